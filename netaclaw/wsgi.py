"""The WSGI entry point: `gunicorn netaclaw.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "netaclaw.settings")
application = get_wsgi_application()
