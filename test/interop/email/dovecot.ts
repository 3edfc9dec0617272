// Dovecot from Debian's packages, run on 127.0.0.1 from the folder it was unpacked into.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { ImapFlow } from 'imapflow'
import { freePort } from '../../doubles/free-port.ts'
import { testCertificate, testKey } from '../../doubles/test-certificate.ts'
import { type DebianFiles, unpackDebian } from '../debian.ts'
import { firstLine, type Peer, provePeer } from '../peer.ts'

export type Dovecot = {
  readonly port: number
  readonly securePort: number
  readonly user: string
  readonly password: string
  /** kill -9: every connection is cut. */
  readonly stop: () => Promise<void>
  readonly log: () => string
}

/** It has started, and opened a mailbox over TLS. */
export async function findDovecot(): Promise<Peer<DebianFiles>> {
  const files = await unpackDebian('dovecot-core', 'dovecot-imapd')
  return provePeer('Dovecot', files, async (module) => {
    const place = await newPlace()
    try {
      const server = await startDovecot(module, place)
      try {
        const { securePort: port, user, password: pass } = server
        const tls = { ca: testCertificate }
        const client = new ImapFlow({ host: '127.0.0.1', port, secure: true, tls, auth: { user, pass }, logger: false })
        client.on('error', () => {})
        await client.connect()
        await client.mailboxOpen('INBOX')
        await client.logout()
      } catch (error) {
        throw new Error(`${firstLine(error)}; it said: ${server.log().match(/(?:Fatal|Error): .*/)?.[0] ?? 'nothing'}`)
      } finally {
        await server.stop()
      }
    } finally {
      await rm(place.folder, { recursive: true, force: true })
    }
  })
}

export type DovecotPlace = { readonly folder: string; readonly port: number; readonly securePort: number }

/** A folder with mail that outlives the server, so that it can be killed and started again. */
export async function newPlace(): Promise<DovecotPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-mailbox-'))
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'mail'))
  if (process.getuid?.() === 0) await chown(join(folder, 'mail'), nobody.uid, nobody.gid)
  return { folder, port: await freePort(), securePort: await freePort() }
}

const nobody = { uid: 65_534, gid: 65_534 }

export async function startDovecot({ root, libraryPath }: DebianFiles, place: DovecotPlace): Promise<Dovecot> {
  const { folder, port, securePort } = place
  const libraries = join(root, 'usr/lib/dovecot')
  await patchModulePath(libraries, folder)
  await resetBase(libraries, folder)
  await writeFile(join(folder, 'cert.pem'), testCertificate)
  await writeFile(join(folder, 'key.pem'), testKey)
  await writeFile(join(folder, 'dovecot.conf'), configuration(libraries, place))
  // Left alone, dovecot executes /usr/bin/doveconf, which executes it again with the settings. Here that happens the other way round.
  const config = ['-c', join(folder, 'dovecot.conf')]
  const program = ['-f', 'service=master', '-p', '-e', join(root, 'usr/sbin/dovecot'), '-F', ...config]
  const child = spawn(join(root, 'usr/bin/doveconf'), [...config, ...program], {
    // A process group of its own, so that its end is the end of everything it started.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      LD_LIBRARY_PATH: [join(folder, 'lib'), libraries, join(libraries, 'modules/old-stats'), libraryPath].join(':'),
      PATH: '/usr/bin:/bin',
    },
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const killAtExit = (): void => void killNow(child)
  process.once('exit', killAtExit)
  const stop = async (): Promise<void> => {
    process.off('exit', killAtExit)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    if (!killNow(child)) return
    await ended
    await waitForGroupEnd(child.pid)
  }
  for (let tries = 0; tries < 200 && child.exitCode === null; tries += 1) {
    if (/starting up/.test(log)) return { port, securePort, user: 'helper', password: 'hunter2', stop, log: () => log }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await stop()
  throw new Error(`it did not come up: ${log}`)
}

/** Its processes look for modules in /usr/lib/dovecot/modules, and work in `base`: a copy of the library that says so says `./modules`. */
async function patchModulePath(libraries: string, folder: string): Promise<void> {
  if (existsSync(join(folder, 'lib'))) return
  const compiledIn = '/usr/lib/dovecot/modules\0'
  const library = await readFile(join(libraries, 'libdovecot.so.0'), 'latin1')
  if (library.split(compiledIn).length !== 2) throw new Error('its library names its modules in another way')
  const changed = library.replace(compiledIn, './modules'.padEnd(compiledIn.length, '\0'))
  await mkdir(join(folder, 'lib'))
  await writeFile(join(folder, 'lib/libdovecot.so.0'), changed, { encoding: 'latin1', mode: 0o755 })
}

/** A killed server leaves its sockets behind: the next one starts without them. */
async function resetBase(libraries: string, folder: string): Promise<void> {
  const base = join(folder, 'base')
  await rm(base, { recursive: true, force: true })
  await mkdir(base)
  await symlink(join(libraries, 'modules'), join(base, 'modules'))
}

function killNow(child: ChildProcess): boolean {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return false
  return process.kill(-child.pid, 'SIGKILL')
}

/** The master may end before the processes it started, which hold its ports and sockets for a moment longer. */
async function waitForGroupEnd(group: number | undefined): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (!(await isGroupAlive(group))) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`its processes (group ${group}) did not end`)
}

/** By /proc, since a signal also reaches zombies, which hold nothing and stay where the first process of a container collects none. */
async function isGroupAlive(group: number | undefined): Promise<boolean> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(ids.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')))
  return stats.some((stat) => {
    // proc(5): the name in brackets may hold spaces; behind it state, parent, group.
    const [state = '', , processGroup] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(processGroup) === group && !/[ZX]/.test(state)
  })
}

function configuration(libraries: string, { folder, port, securePort }: DovecotPlace): string {
  const { username, uid, gid } = userInfo()
  const isRoot = uid === 0
  const [user, owner] = isRoot ? ['nobody', nobody] : [username, { uid, gid }]
  // It knows groups by their names only.
  const group = execFileSync('id', ['-gn', user], { encoding: 'utf8' }).trim()
  return `
base_dir = ${folder}/base
state_dir = ${folder}/state
libexec_dir = ${libraries}
mail_plugin_dir = ${libraries}/modules
log_path = /dev/stderr
protocols = imap
listen = 127.0.0.1
ssl = yes
ssl_cert = <${folder}/cert.pem
ssl_key = <${folder}/key.pem
disable_plaintext_auth = no
default_internal_user = ${user}
default_internal_group = ${group}
default_login_user = ${user}
import_environment = LD_LIBRARY_PATH
first_valid_uid = 1
mail_location = maildir:${folder}/mail/%u
mailbox_idle_check_interval = 1 s
passdb {
  driver = static
  args = password=hunter2
}
userdb {
  driver = static
  args = uid=${owner.uid} gid=${owner.gid} home=${folder}/mail/%u
}
service imap-login {
  chroot =
  inet_listener imap {
    port = ${port}
  }
  inet_listener imaps {
    port = ${securePort}
    ssl = yes
  }
}
service anvil {
  chroot =
}
service stats {
  chroot =
}
`
}
