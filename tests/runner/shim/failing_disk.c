/* Preloaded into the server under test: a disk that fails when it is told to.
 *
 * While the file $FAILING_DISK/sync exists, syncing a file below $FAILING_DISK/data fails with EIO; while
 * $FAILING_DISK/full exists, writing to one fails with ENOSPC. Other files and sockets are left alone.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int fails(int fd, const char *fault)
{
    const char *directory = getenv("FAILING_DISK");
    char path[PATH_MAX], link[64], target[PATH_MAX];
    if (directory == NULL)
        return 0;
    snprintf(path, sizeof path, "%s/%s", directory, fault);
    if (access(path, F_OK) != 0)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length < 0)
        return 0;
    target[length] = 0;
    int prefix = snprintf(path, sizeof path, "%s/data/", directory);
    return strncmp(target, path, (size_t)prefix) == 0;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int fsync(int fd)
{
    if (fails(fd, "sync"))
        return errno = EIO, -1;
    return NEXT(fsync)(fd);
}

int fdatasync(int fd)
{
    if (fails(fd, "sync"))
        return errno = EIO, -1;
    return NEXT(fdatasync)(fd);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    if (fails(fd, "full"))
        return errno = ENOSPC, -1;
    return NEXT(write)(fd, bytes, count);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    if (fails(fd, "full"))
        return errno = ENOSPC, -1;
    return NEXT(pwrite)(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t offset)
{
    if (fails(fd, "full"))
        return errno = ENOSPC, -1;
    return NEXT(pwrite64)(fd, bytes, count, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int count)
{
    if (fails(fd, "full"))
        return errno = ENOSPC, -1;
    return NEXT(writev)(fd, parts, count);
}
