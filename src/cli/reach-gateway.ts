// Connects a command to a gateway: an address, the socket in its data folder, or, when none runs, the same routes in this process.
import { existsSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { isGatewayError } from '../lib/errors.ts'
import { type Secret, secret } from '../lib/secret.ts'
import { type SocketKind, socketPathFor } from '../node/data-dir.ts'
import { embeddedFolder } from '../node/embedded-postgres.ts'
import { readStoredAdminToken } from '../node/gateway-secrets.ts'
import { createNodeLog } from '../node/log.ts'
import { startingCode } from '../node/starting-responder.ts'
import { assembleGatewayWithoutListening } from '../node.ts'
import { CommandError, exitCodes, usageError } from './command-error.ts'
import { loadConfigFromDisk, migrationsFolder } from './load-config.ts'

export type GatewayRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
}
export type GatewayAnswer = { readonly status: number; readonly body: string }

/** A gateway that does not even say that it is up within this time is frozen or worse. */
const aliveMs = 15_000
/** A start takes seconds, the first one of an embedded database a few more. */
const busyMs = 60_000

export type ReachedGateway = {
  /** `offline`: no gateway runs, the database was opened here. */
  readonly via: 'url' | 'socket' | 'offline'
  readonly token: Secret | undefined
  readonly send: (question: GatewayRequest) => Promise<GatewayAnswer>
  readonly close: () => Promise<void>
}

export type GatewayTarget = TokenSources & {
  readonly url: string | undefined
  readonly allowHttp: boolean | undefined
  readonly config: string | undefined
}

export async function connectToGateway(where: GatewayTarget): Promise<ReachedGateway> {
  const dataDir = process.env['PARLEY_DATA_DIR']?.trim() || '.parley'
  const given = await tokenFromFlagsOrEnvironment(where)
  if (where.url !== undefined) {
    const url = parseGatewayUrl(where.url, where.allowHttp === true)
    return connectByUrl(url, given ?? (await requireAdminTokenForOwnUrl(url, dataDir)))
  }
  const token = given ?? (await localAdminToken(dataDir))
  const until = Date.now() + busyMs
  for (;;) {
    const reached = await tryToConnect(where.config, dataDir, token)
    if (reached !== undefined) return reached
    if (Date.now() > until)
      throw unreachableError(
        'a gateway has been starting, or a command running, on this data folder for a minute; look at it',
      )
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Undefined: a gateway is just starting, or another command has the database for a moment. */
async function tryToConnect(
  configFile: string | undefined,
  dataDir: string,
  token: Secret | undefined,
): Promise<ReachedGateway | undefined> {
  for (const path of await listGatewaySocketPaths(dataDir)) {
    const state = await probeSocketState(path)
    if (state === 'busy') return undefined
    if (state === 'up') return connectBySocket(path, token)
  }
  try {
    return await openOfflineGateway(configFile, dataDir)
  } catch (error) {
    if (isGatewayError(error, 'data_dir_locked')) return undefined
    throw error
  }
}

function connectByUrl(url: URL, token: Secret): ReachedGateway {
  const base = url.href.replace(/\/+$/, '')
  return {
    via: 'url',
    token,
    async send({ path, timeoutMs, ...init }) {
      const signal = AbortSignal.timeout(timeoutMs)
      // Never followed: the token is meant for this address alone.
      const noAnswer = (): never => {
        throw unreachableError(`no gateway answers at ${base}; correct --url, or start one with parley start`)
      }
      const response = await fetch(`${base}${path}`, { ...init, signal, redirect: 'manual' }).catch(noAnswer)
      if (response.status >= 300 && response.status < 400)
        throw unreachableError(`${base} answers with a redirect, which is not followed; give --url the final address`)
      return { status: response.status, body: await response.text().catch(noAnswer) }
    },
    close: async () => {},
  }
}

/** With DATABASE_URL only a gateway on a server is meant; without it, whichever runs on this folder. */
async function listGatewaySocketPaths(dataDir: string): Promise<readonly string[]> {
  const kinds: readonly SocketKind[] = isDatabaseUrlSet() ? ['control'] : ['lock', 'control']
  const paths: string[] = []
  for (const kind of kinds) {
    const path = await socketPathFor(dataDir, kind).catch(() => undefined)
    if (path !== undefined && (await isSocketOfFolderOwner(path, dataDir))) paths.push(path)
  }
  return paths
}

/** In a shared temporary folder another user can put a socket of that name; the token goes to the folder's owner only. */
async function isSocketOfFolderOwner(path: string, dataDir: string): Promise<boolean> {
  const [socket, folder] = await Promise.all([stat(path), stat(dataDir)]).catch(() => [])
  return socket !== undefined && folder !== undefined && socket.isSocket() && socket.uid === folder.uid
}

async function probeSocketState(path: string): Promise<'up' | 'busy' | 'gone'> {
  try {
    const answer = await sendOverSocket(path, { method: 'GET', path: '/healthz', headers: {}, timeoutMs: aliveMs })
    return answer.status === 503 && answer.body.includes(startingCode) ? 'busy' : 'up'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // The file outlived its process; or the process went away just now.
    if (code === 'ECONNREFUSED' || code === 'ENOENT') return 'gone'
    if (code === 'ECONNRESET' || code === 'EPIPE') return 'busy'
    throw unreachableError('a process holds the data folder and does not answer; look at it, or end it, and try again')
  }
}

function connectBySocket(path: string, token: Secret | undefined): ReachedGateway {
  return {
    via: 'socket',
    token,
    send: (question) =>
      sendOverSocket(path, question).catch(() => {
        throw unreachableError('the gateway went away, or took too long, while it was asked; look whether it happened')
      }),
    close: async () => {},
  }
}

function sendOverSocket(socketPath: string, { body, timeoutMs, ...question }: GatewayRequest): Promise<GatewayAnswer> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const headers = { host: 'localhost', connection: 'close', ...question.headers, ...length }
    const signal = AbortSignal.timeout(timeoutMs)
    const asked = request({ socketPath, ...question, headers, signal }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }))
      response.on('error', reject)
    })
    asked.on('error', reject)
    asked.end(body)
  })
}

/** The database is opened as a gateway would; without one there is nothing to look at, and none is made. */
async function openOfflineGateway(configFile: string | undefined, dataDir: string): Promise<ReachedGateway> {
  if (!isDatabaseUrlSet() && !existsSync(join(embeddedFolder(dataDir), 'PG_VERSION'))) {
    throw unreachableError(
      `no gateway runs on ${dataDir} and there is no database in it; start one with parley start, or say where with PARLEY_DATA_DIR, DATABASE_URL or --url`,
    )
  }
  const config = await loadConfigFromDisk(configFile)
  const token = secret(crypto.randomUUID())
  const offline = await assembleGatewayWithoutListening({
    config,
    migrationsFolder,
    log: createNodeLog('silent'),
    adminToken: token,
  })
  return {
    via: 'offline',
    token,
    async send({ path, timeoutMs: _unused, ...init }) {
      const response = await offline.fetch(new Request(`http://localhost${path}`, init))
      return { status: response.status, body: await response.text() }
    },
    close: offline.close,
  }
}

function isDatabaseUrlSet(): boolean {
  return (process.env['DATABASE_URL'] ?? '').trim() !== ''
}

function unreachableError(message: string): CommandError {
  return new CommandError(exitCodes.unreachable, 'unreachable', message)
}

// The token of this data folder stays with its own gateway, another address needs its own.

type TokenSources = { readonly token: string | undefined; readonly tokenFile: string | undefined }

const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** A token that was named for this one call: a flag, a file, or PARLEY_TOKEN. */
async function tokenFromFlagsOrEnvironment({ token, tokenFile }: TokenSources): Promise<Secret | undefined> {
  if (token !== undefined && tokenFile !== undefined) throw usageError('give either --token or --token-file, not both')
  if (tokenFile !== undefined) return readTokenFile(tokenFile)
  return secretUnlessBlank(token ?? process.env['PARLEY_TOKEN'])
}

/** The first token of the gateway that this environment and data folder belong to. */
async function localAdminToken(dataDir: string): Promise<Secret | undefined> {
  return secretUnlessBlank(process.env['PARLEY_ADMIN_TOKEN']) ?? readStoredAdminToken(dataDir)
}

/**
 * The own token leaves the socket only for the gateway's own public address, where TLS proves who answers. A port of this
 * machine proves nothing: any of its users may listen there while the gateway does not.
 */
async function requireAdminTokenForOwnUrl(url: URL, dataDir: string): Promise<Secret> {
  const own = process.env['PARLEY_PUBLIC_URL']?.trim() ?? ''
  const isOwn = url.protocol === 'https:' && URL.canParse(own) && isSameAddress(new URL(own), url)
  const token = isOwn ? await localAdminToken(dataDir) : undefined
  if (token !== undefined) return token
  throw new CommandError(
    exitCodes.usage,
    'token_missing',
    `no token was given for ${url.origin}; name one of that gateway with --token-file or PARLEY_TOKEN, or leave --url out to ask the gateway on this data folder`,
  )
}

function parseGatewayUrl(text: string, allowHttp: boolean): URL {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.search !== '' || url.hash !== '')
    throw usageError('--url must be an address such as http://127.0.0.1:8787')
  if (url.username !== '' || url.password !== '')
    throw usageError('--url must not hold a name or password; use --token-file or PARLEY_TOKEN')
  if (url.protocol === 'http:' && !loopbackHost.test(url.hostname) && !allowHttp)
    throw usageError(
      `${url.origin} is not encrypted: the token and every answer could be read on the way; use https, or add --allow-http on a network you trust`,
    )
  return url
}

function isSameAddress(one: URL, other: URL): boolean {
  const pathWithoutSlash = ({ pathname }: URL): string => pathname.replace(/\/+$/, '')
  return one.origin === other.origin && pathWithoutSlash(one) === pathWithoutSlash(other)
}

async function readTokenFile(file: string): Promise<Secret> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw usageError(`--token-file ${file} cannot be read (${error.code ?? 'unknown'}); correct the path`)
  })
  const token = secretUnlessBlank(text)
  if (token === undefined || /\s/.test(text.trim())) throw usageError(`--token-file ${file} must hold one token alone`)
  return token
}

function secretUnlessBlank(text: string | undefined): Secret | undefined {
  const trimmed = text?.trim() ?? ''
  return trimmed === '' ? undefined : secret(trimmed)
}
