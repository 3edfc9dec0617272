// Programs from Debian packages, unpacked into a folder of their own together with the libraries this machine does not have. Nothing is
// installed, and nothing outside of that folder is needed but the base system.
import { execFile } from 'node:child_process'
import { existsSync, globSync, lstatSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { type Peer, provePeer } from './peer.ts'

const run = promisify(execFile)
// A machine without a network learns it in seconds.
const patience = ['-o', 'Acquire::Retries=0', '-o', 'Acquire::http::Timeout=15', '-o', 'Acquire::https::Timeout=15']

export type DebianFiles = {
  readonly root: string
  /** Holds a command for every unpacked program; each finds the unpacked libraries and Perl modules. */
  readonly commands: string
  /** Folders of unpacked shared libraries, as LD_LIBRARY_PATH wants them. */
  readonly libraryPath: string
}

/** Kept between runs, for each user. Of two that unpack at the same time the second finds it done. */
export async function unpackDebian(...packages: readonly string[]): Promise<Peer<DebianFiles>> {
  if (process.platform !== 'linux') return { problem: `${packages[0]} comes from Debian packages, which are for Linux` }
  const root = join(tmpdir(), `parley-debian-${packages.join('-')}-of-${process.getuid?.()}`)
  const unpacked = await provePeer(
    `${packages[0]} from Debian`,
    { module: root },
    async () => existsSync(root) || unpackInto(root, packages),
    240_000,
  )
  if ('problem' in unpacked) return unpacked
  const libraryPath = pathsIn(root, 'lib/*-linux-*', 'usr/lib/*-linux-*').join(':')
  return { module: { root, commands: join(root, 'commands'), libraryPath } }
}

async function unpackInto(root: string, packages: readonly string[]): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-unpacking-'))
  const unpacked = join(folder, 'unpacked')
  try {
    const missing = await missingPackages(packages)
    const wanted = new Set([...packages, ...missing])
    await run('apt-get', [...patience, 'download', ...wanted], { cwd: folder, timeout: 200_000 })
    for (const file of (await readdir(folder)).filter((each) => each.endsWith('.deb')))
      await run('dpkg-deb', ['-x', file, unpacked], { cwd: folder })
    await writeCommands(unpacked, root)
    // Its processes may run as another user.
    await chmod(unpacked, 0o755)
    await rename(unpacked, root).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** What apt would add to this machine, without what it would replace. */
async function missingPackages(packages: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run('apt-get', ['install', '--simulate', '--no-install-recommends', ...packages])
  return [...stdout.matchAll(/^Inst (\S+) \(/gm)].map(([, name]) => name ?? '')
}

/** `root`: where the unpacked files will be. */
async function writeCommands(unpacked: string, root: string): Promise<void> {
  const later = (paths: readonly string[]) => paths.map((path) => path.replace(unpacked, root))
  const libraries = later(pathsIn(unpacked, 'lib/*-linux-*', 'usr/lib/*-linux-*'))
  const modules = later(
    pathsIn(unpacked, 'usr/share/perl5', 'usr/share/perl/5.*', 'usr/lib/*/perl5/5.*', 'usr/lib/*/perl/5.*'),
  )
  const environment = `LD_LIBRARY_PATH='${libraries.join(':')}' PERL5LIB='${modules.join(':')}'`
  await mkdir(join(unpacked, 'commands'))
  // Links to where the package would be installed lead out of the folder.
  const programs = pathsIn(unpacked, '{usr/,}{sbin,bin}/*').filter((path) => !lstatSync(path).isSymbolicLink())
  for (const program of later(programs)) {
    const text = `#!/bin/sh\n${environment} exec '${program}' "$@"\n`
    await writeFile(join(unpacked, 'commands', basename(program)), text, { mode: 0o755 })
  }
}

function pathsIn(root: string, ...patterns: readonly string[]): readonly string[] {
  return globSync(patterns, { cwd: root }).map((each) => join(root, each))
}
