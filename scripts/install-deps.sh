#!/usr/bin/env bash
# Installs the Debian packages that this machine lacks. Without root it names them instead.
#
#   install-deps.sh build    what compiling needs; fails if it is missing
#   install-deps.sh cluster  the same and HAProxy, for two SQL nodes
#   install-deps.sh test     the same and the clients that the tests use; a test whose client is missing is skipped
#   install-deps.sh lint     what compiling needs, rustfmt and clippy; fails if they are missing
set -euo pipefail

purpose=${1:-test}

# A command or a file that shows that a package is installed, and the package, or several.
build=(
    "cc build-essential"
    "c++ build-essential"
    "clang clang"
    "libclang libclang-dev"
)
cluster=(
    "haproxy haproxy"
)
test=(
    "mariadb mariadb-client"
    "mariadb-slap mariadb-client"
    "mariadbd mariadb-server-core"
    "sysbench sysbench"
    "mydumper mydumper"
    "mycli mycli"
    "pt-table-checksum percona-toolkit"
    "prometheus-mysqld-exporter prometheus-mysqld-exporter"
    "pkg-config pkg-config"
    "mysql_config default-libmysqlclient-dev"
    "unzip unzip"
    "python3 python3"
    "venv python3-venv"
    "python-headers python3-dev"
    "chromium chromium"
    "ruby ruby"
    "/usr/lib/ruby/vendor_ruby/mysql2.rb ruby-mysql2"
    "/usr/share/rubygems-integration/all/specifications/activerecord-*.gemspec ruby-activerecord"
    "php php-cli"
    "php-mysql php-mysql"
    "/usr/share/php/Illuminate/Database/autoload.php php-illuminate-database"
    "/usr/share/php/Illuminate/Events/autoload.php php-illuminate-events"
    "/usr/share/php/Doctrine/DBAL/autoload.php php-doctrine-dbal"
    # It wants a web server: mini-httpd is small, answers this machine only, and is not started.
    "/usr/share/wordpress/wp-load.php mini-httpd wordpress"
    "/usr/share/wordpress/wp-content/themes/twentytwentyone/index.php wordpress-theme-twentytwentyone"
    # dbconfig-no-thanks: nothing asks for a database.
    "/usr/share/phpmyadmin/index.php dbconfig-no-thanks phpmyadmin"
)

there() {
    case $1 in
    libclang) compgen -G '/usr/lib/llvm-*/lib/libclang*.so*' >/dev/null || compgen -G '/usr/lib/*/libclang*.so*' >/dev/null ;;
    venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
    haproxy) PATH=$PATH:/usr/sbin command -v haproxy >/dev/null ;;
    # A MySQL that is installed would be removed for it.
    mariadbd) PATH=$PATH:/usr/sbin command -v mariadbd >/dev/null || PATH=$PATH:/usr/sbin command -v mysqld >/dev/null ;;
    python-headers) python3 -c 'import os, sysconfig; os.stat(sysconfig.get_paths()["include"] + "/Python.h")' 2>/dev/null ;;
    php-mysql) php -r 'exit((int) !extension_loaded("pdo_mysql"));' 2>/dev/null ;;
    /*) compgen -G "$1" >/dev/null ;;
    *) command -v "$1" >/dev/null ;;
    esac
}

missing=()
look() {
    local entry words
    for entry in "$@"; do
        read -ra words <<<"$entry"
        there "${words[0]}" || missing+=("${words[@]:1}")
    done
}

look "${build[@]}"
essential=${#missing[@]}
if [[ $purpose == cluster || $purpose == test ]]; then
    look "${cluster[@]}"
fi
if [[ $purpose == test ]]; then
    look "${test[@]}"
fi
if ! command -v cargo >/dev/null; then
    echo "cargo is not installed: Rust 1.95 or newer is needed (https://rustup.rs)" >&2
    exit 1
fi
if [[ $purpose == lint ]]; then
    for component in rustfmt clippy; do
        cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 && continue
        echo "installing: $component"
        if ! command -v rustup >/dev/null || ! rustup component add "$component"; then
            echo "$component is not installed, so lint cannot run: rustup component add $component" >&2
            exit 1
        fi
    done
fi
if [[ ${#missing[@]} -eq 0 ]]; then
    exit 0
fi

mapfile -t packages < <(printf '%s\n' "${missing[@]}" | sort -u)
if [[ $(id -u) -eq 0 ]] && command -v apt-get >/dev/null; then
    echo "installing: ${packages[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    known=()
    for package in "${packages[@]}"; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            known+=("$package")
        else
            echo "this system has no package $package" >&2
        fi
    done
    # Packages with a service, such as the exporter, do not start it.
    policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod +x "$policy"
    fi
    apt-get install -y -qq --no-install-recommends "${known[@]}" >/dev/null
    exit 0
fi
echo "These Debian packages are missing: ${packages[*]}" >&2
echo "Install them with: sudo apt-get install ${packages[*]}" >&2
if [[ $essential -gt 0 ]]; then
    exit 1
fi
echo "Continuing without them: tests that need them are skipped." >&2
