// The check of the public URL: the gateway asks it for a nonce, the way a stranger would, and reports whether that leads here,
// and what the proxies on the way make of a request. It decides nothing: who is local does not depend on it.
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PublicUrlState } from '../contract/probe.ts'
import type { Log } from '../lib/log.ts'
import type { PublicUrlHealth } from '../observability/readiness.ts'
import { isForwardingHeader, isFromThisMachine } from './incoming-request.ts'

export type PublicUrlCheck = {
  /** True where the request was for the check, and is answered. Undefined: there is no public URL. */
  readonly answer: ((incoming: IncomingMessage, outgoing: ServerResponse) => boolean) | undefined
  /** What is known; asks again in the background where that is old. Undefined: there is no public URL. */
  readonly read: () => PublicUrlHealth | undefined
  /** The same once it is known: callers that ask meanwhile wait for the same request. */
  readonly settled: () => Promise<PublicUrlState | undefined>
  readonly stop: () => void
}

const checkPath = '/.well-known/parley-check/'
const timeoutMs = 5_000
/** A good answer holds for longer than a bad one, which the operator is perhaps mending just now. */
const freshMs: Readonly<Record<PublicUrlState, number>> = {
  checking: timeoutMs,
  reached: 600_000,
  looks_local: 60_000,
  another_gateway: 600_000,
  other_server: 60_000,
  unreachable: 60_000,
}
const otherProcess = 'parley: another process'
const maxAnswerBytes = 256
const maxHeaders = 8

const remedies: Readonly<Partial<Record<PublicUrlState, string>>> = {
  looks_local:
    'what comes through the public URL cannot be told from this machine; nothing is open by it while PARLEY_PUBLIC_URL is set; have the proxy send Host and X-Forwarded-For',
  another_gateway:
    'another Parley process answered there; with replicas behind a balancer that is as it should be, else correct PARLEY_PUBLIC_URL',
  other_server:
    'something else than this gateway answers at PARLEY_PUBLIC_URL, and links that are sent to people lead there; correct the variable, or the proxy',
  unreachable:
    'PARLEY_PUBLIC_URL could not be reached from here; check its name, its certificate and the proxy (some networks do not lead back to themselves)',
}

type PublicUrlCheckDeps = {
  readonly publicUrl: string | undefined
  readonly log: Log
  readonly fetch: typeof fetch
  readonly monotonicMs: () => number
}
type Seen = Pick<PublicUrlHealth, 'forwardedBy' | 'host'> & { readonly isNearAddress: boolean }
type Asked = { readonly proof: string; seen: Seen | undefined }

export function createPublicUrlCheck({ publicUrl, log, fetch: ask, monotonicMs }: PublicUrlCheckDeps): PublicUrlCheck {
  const open = new Map<string, Asked>()
  const stopping = new AbortController()
  let found: PublicUrlHealth = { state: 'checking' }
  let asking: Promise<void> | undefined
  let askedAt = Number.NEGATIVE_INFINITY

  const checkPublicUrl = async (url: string): Promise<void> => {
    askedAt = monotonicMs()
    const nonce = randomBytes(16).toString('hex')
    const asked: Asked = { proof: randomBytes(16).toString('hex'), seen: undefined }
    open.set(nonce, asked)
    const now = await fetchPublicUrlHealth(`${url}${checkPath}${nonce}`, asked, ask, stopping.signal).catch(
      (): PublicUrlHealth => ({ state: 'unreachable' }),
    )
    open.delete(nonce)
    asking = undefined
    if (stopping.signal.aborted) return
    const isNews = now.state !== found.state
    const remedy = remedies[now.state]
    found = remedy === undefined ? now : { ...now, remedy }
    if (!isNews) return
    const isFine = now.state === 'reached' || now.state === 'another_gateway'
    log[isFine ? 'info' : 'warn']('public_url_checked', {
      reason: now.state,
      ...(remedy === undefined ? {} : { problem: remedy }),
    })
  }
  const recheckPublicUrlIfStale = (): void => {
    if (publicUrl === undefined || asking !== undefined || stopping.signal.aborted) return
    if (monotonicMs() - askedAt >= freshMs[found.state]) asking = checkPublicUrl(publicUrl)
  }
  const answerPublicUrlCheck = (url: string, incoming: IncomingMessage, outgoing: ServerResponse): boolean => {
    const path = incoming.url ?? ''
    const at = path.indexOf(checkPath)
    // A proxy may leave a part of its own in front.
    if (incoming.method !== 'GET' || at === -1 || path.length > 512) return false
    const asked = open.get(path.slice(at + checkPath.length))
    if (asked !== undefined) asked.seen = describeCheckRequest(incoming, url)
    const status = asked === undefined ? 404 : 200
    outgoing.writeHead(status, { 'content-type': 'text/plain', 'cache-control': 'no-store' })
    outgoing.end(asked?.proof ?? otherProcess)
    return true
  }
  return {
    answer:
      publicUrl === undefined ? undefined : (incoming, outgoing) => answerPublicUrlCheck(publicUrl, incoming, outgoing),
    read() {
      recheckPublicUrlIfStale()
      return publicUrl === undefined ? undefined : found
    },
    async settled() {
      recheckPublicUrlIfStale()
      await asking
      return publicUrl === undefined ? undefined : found.state
    },
    stop: () => stopping.abort(),
  }
}

async function fetchPublicUrlHealth(
  url: string,
  asked: Asked,
  ask: typeof fetch,
  stopping: AbortSignal,
): Promise<PublicUrlHealth> {
  const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), stopping])
  const response = await ask(url, { redirect: 'manual', signal, headers: { connection: 'close' } })
  const said = await readFirstBytes(response)
  if (said === otherProcess) return { state: 'another_gateway' }
  if (said !== asked.proof || asked.seen === undefined) return { state: 'other_server' }
  const { isNearAddress: isNear, ...seen } = asked.seen
  return { state: isNear ? 'looks_local' : 'reached', ...seen }
}

/** Never more than was asked for, whatever is there. */
async function readFirstBytes({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  let said = ''
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    said += Buffer.from(part.value).toString('latin1')
    if (said.length > maxAnswerBytes) break
  }
  await reader?.cancel()
  return said
}

function describeCheckRequest(incoming: IncomingMessage, publicUrl: string): Seen {
  const names = Object.keys(incoming.headers).filter(isForwardingHeader).slice(0, maxHeaders)
  const isPassedOn = incoming.headers.host === new URL(publicUrl).host
  return { isNearAddress: isFromThisMachine(incoming), forwardedBy: names, host: isPassedOn ? 'passed_on' : 'replaced' }
}
