"""Django's settings, wired from the environment; a bad value there ends the start with its repair."""

from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from netaclaw import environment, security

BASE_DIR = environment.BASE_DIR
try:
    ENVIRONMENT = environment.load()
    SECRET_KEY = environment.secret_key(ENVIRONMENT)
    DATABASES = environment.databases(ENVIRONMENT)
except ImproperlyConfigured as error:
    raise SystemExit(f"NetaClaw Memory does not start with this configuration:\n{error}") from None

DATA_DIR = ENVIRONMENT.data_dir
COOL_JWT_SECRET = ENVIRONMENT.cool_jwt_secret
DEBUG = ENVIRONMENT.debug
ALLOWED_HOSTS = list(ENVIRONMENT.allowed_hosts)
REPLICAS = environment.replicas(ENVIRONMENT)
DATABASE_ROUTERS = ["netaclaw.router.StoreRouter"]
MAX_OPEN_STORES = ENVIRONMENT.max_open_stores
PREFETCH_CHARACTERS = ENVIRONMENT.prefetch_characters
PREFETCH_SECONDS = ENVIRONMENT.prefetch_seconds
MODELS = environment.models(ENVIRONMENT)
MODEL_SECONDS = ENVIRONMENT.model_seconds
CHATS = ENVIRONMENT.chats
CHAT_SECONDS = ENVIRONMENT.chat_seconds
CHAT_STEPS = ENVIRONMENT.chat_steps
CHAT_HISTORY_TURNS = ENVIRONMENT.chat_history_turns
CHAT_HISTORY_CHARACTERS = ENVIRONMENT.chat_history_characters
HISTORY_DAYS = ENVIRONMENT.history_days
HISTORY_MEGABYTES = ENVIRONMENT.history_megabytes

INSTALLED_APPS = [
    "netaclaw.apps.ConsoleConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_filters",
    "django_jsonform",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "memory_app",
    "agents_app",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "netaclaw.security.permissions_policy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "netaclaw.acting.ActingMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "netaclaw.urls"
WSGI_APPLICATION = "netaclaw.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]
# Throttles count over all workers of a machine.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": DATA_DIR / "cache"}}
CSRF_TRUSTED_ORIGINS = list(ENVIRONMENT.csrf_trusted_origins)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT.https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENVIRONMENT.https else None
SECURE_HSTS_SECONDS = 3600 if ENVIRONMENT.https else 0
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {"DIRECTIVES": security.DIRECTIVES}

LANGUAGE_CODE = ENVIRONMENT.language
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = ENVIRONMENT.time_zone
USE_I18N = USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "netaclaw" / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "NUM_PROXIES": 1 if ENVIRONMENT.https else 0,  # whose word on the caller's address counts
}
SPECTACULAR_SETTINGS = {
    "TITLE": "NetaClaw Memory",
    "DESCRIPTION": "Long-term memory for LLM agents. For agents' runtimes there is plain HTTP under /api/, with an"
    " agent's key; for front ends the Cool Admin format under /admin/, every business answer HTTP 200 in an envelope.",
    "VERSION": "0.1.0",
    "SCHEMA_PATH_PREFIX": "/admin/(?:netaclaw|base|dict)",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "loggers": {
        "mcp": {"level": "WARNING"},  # it tells of every exchange's beginning and end
        "httpx2": {"level": "WARNING"},  # a line for each request to a model
    },
    "root": {"handlers": ["stderr"], "level": ENVIRONMENT.log_level},
}
