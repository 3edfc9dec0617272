// A network namespace of its own for programs that take fixed ports or listen on every address: they meet no other program there.
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { unpackDebian } from './debian.ts'
import { type Peer, provePeer } from './peer.ts'

/** The command that runs `program` there, with its loopback up. */
export type NetworkNamespace = (...program: readonly string[]) => readonly [string, ...string[]]

// Only root may make one without a user namespace, which not every kernel or container allows.
const unshare = process.getuid?.() === 0 ? ['unshare', '--net'] : ['unshare', '--net', '--map-root-user']
const meetItself = `
  const server = require('node:net').createServer((socket) => socket.end()).listen(0, '127.0.0.1', () =>
    require('node:net').connect(server.address().port, '127.0.0.1').on('connect', () => process.exit(0)))
`

/** A program in one has listened on 127.0.0.1 and reached itself. */
export async function findNetworkNamespace(): Promise<Peer<NetworkNamespace>> {
  if (spawnSync('unshare', ['--version']).status !== 0)
    return { problem: 'a network namespace does not work on this machine: there is no unshare' }
  const ip = await findIp()
  if ('problem' in ip) return ip
  const run: NetworkNamespace = (...program) => {
    const [first, ...flags] = unshare as [string, ...string[]]
    return [first, ...flags, 'sh', '-c', '"$0" link set lo up && exec "$@"', ip.module, ...program]
  }
  return provePeer('a network namespace', { module: run }, async (inside) => {
    const [command, ...args] = inside(process.execPath, '--eval', meetItself)
    await promisify(execFile)(command, args, { timeout: 20_000 })
  })
}

async function findIp(): Promise<Peer<string>> {
  if (spawnSync('ip', ['-V']).status === 0) return { module: 'ip' }
  const files = await unpackDebian('iproute2')
  return 'problem' in files ? files : { module: join(files.module.commands, 'ip') }
}
