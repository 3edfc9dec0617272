// Reverse proxies from Debian's packages on 127.0.0.1, as an operator sets them up after the first page of their manuals.
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../doubles/free-port.ts'
import type { DebianFiles } from '../debian.ts'

export type ReverseProxy = { readonly url: string; readonly stop: () => Promise<void> }

/** `to`: host and port of what is behind it. */
export type ProxySetUp = {
  readonly command: string
  readonly file: string
  readonly text: (port: number, to: string, folder: string) => string
  readonly words: (file: string, folder: string) => readonly string[]
}

const startTimeoutMs = 15_000

/** `location / { proxy_pass … }`, with lines beside it. */
export function nginx(...lines: readonly string[]): ProxySetUp {
  return {
    command: 'nginx',
    file: 'nginx.conf',
    text: (port, to, folder) => `daemon off;
worker_processes 1;
error_log stderr;
pid ${folder}/pid;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://${to};
      ${lines.join('\n      ')}
    }
  }
}
`,
    words: (file, folder) => ['-p', folder, '-c', file, '-e', 'stderr'],
  }
}

export function haproxy(mode: 'http' | 'tcp'): ProxySetUp {
  return {
    command: 'haproxy',
    file: 'haproxy.cfg',
    text: (port, to) => `defaults
  mode ${mode}
  timeout connect 5s
  timeout client 30s
  timeout server 30s
frontend in
  bind 127.0.0.1:${port}
  default_backend gateway
backend gateway
  server one ${to}
`,
    words: (file) => ['-db', '-f', file],
  }
}

export const caddy: ProxySetUp = {
  command: 'caddy',
  file: 'Caddyfile',
  text: (port, to) => `{
  admin off
  auto_https off
}
http://:${port} {
  bind 127.0.0.1
  reverse_proxy ${to}
}
`,
  words: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
}

/** `behind`: the address of the gateway. `port`: where it listens, where the caller chose it before. */
export async function startProxy(
  { commands }: DebianFiles,
  { command, file, text, words }: ProxySetUp,
  behind: string,
  given?: number,
): Promise<ReverseProxy> {
  const folder = await mkdtemp(join(tmpdir(), `parley-${command}-`))
  await chmod(folder, 0o755)
  const port = given ?? (await freePort())
  const path = join(folder, file)
  await writeFile(path, text(port, new URL(behind).host, folder))
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(join(commands, command), [...words(path, folder)], { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-2_000)
  })
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) await end(child)
    await rm(folder, { recursive: true, force: true })
  }
  if (await answers(child, port)) return { url: `http://127.0.0.1:${port}`, stop }
  await stop()
  throw new Error(`${command} did not start: ${said.trim()}`)
}

/** Asked to go and not killed: a killed nginx leaves its worker behind. */
async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

async function answers(child: ChildProcess, port: number): Promise<boolean> {
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline && child.exitCode === null; ) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => resolve(true))
      socket.on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (isOpen) return true
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return false
}
