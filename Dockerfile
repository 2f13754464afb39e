FROM python:3.13-slim-bookworm
RUN apt-get update && apt-get install -y --no-install-recommends gcc pkg-config default-libmysqlclient-dev \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt
COPY . .
RUN useradd --create-home netaclaw && install -d -o netaclaw /data
USER netaclaw
ENV NETACLAW_DATA_DIR=/data
EXPOSE 8000
CMD ["sh", "-c", "python manage.py prepare --demo no && exec python -m gunicorn netaclaw.wsgi --bind 0.0.0.0:8000 --worker-class gthread --workers 2 --threads 8 --worker-tmp-dir /dev/shm --no-control-socket"]
