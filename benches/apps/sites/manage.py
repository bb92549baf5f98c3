"""Django's own administration of a small library: `manage.py` and settings of the site."""

import os
import sys

os.environ["DJANGO_SETTINGS_MODULE"] = "library.settings"

if __name__ == "__main__":
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
