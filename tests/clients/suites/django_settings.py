"""Django's settings for its own tests, and a test runner that says which tests failed."""

import json
import os

from django.test.runner import DiscoverRunner


def database(name):
    return {
        "ENGINE": "django.db.backends.mysql",
        "NAME": name,
        "HOST": os.environ["STEMDB_HOST"],
        "PORT": os.environ["STEMDB_PORT"],
        "USER": "root",
        "TEST": {"CHARSET": "utf8mb4"},
    }


DATABASES = {"default": database("suite_django"), "other": database("suite_django_other")}
SECRET_KEY = "for tests"
USE_TZ = False
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TEST_RUNNER = "django_settings.Runner"


class Runner(DiscoverRunner):
    """Writes the results as JSON to the file that SUITE_RESULTS names."""

    def suite_result(self, suite, result, **kwargs):
        failed = [test.id() for test, _ in result.failures + result.errors]
        failed += [test.id() for test in result.unexpectedSuccesses]
        passed = result.testsRun - len(set(failed)) - len(result.skipped) - len(result.expectedFailures)
        with open(os.environ["SUITE_RESULTS"], "w") as file:
            json.dump({"passed": passed, "failed": failed}, file)
        return super().suite_result(suite, result, **kwargs)
