// DNS for mail authentication, by Node's resolver or over HTTPS: every answer bounded, cached for a while, and counted for each
// mail, so that no domain can make a mail expensive. What is not known is never cached.

import {
  importOnNode,
  LruMap,
  misfit,
  parseJson,
  type Reading,
  readByWireRule,
  wireArray,
  wireInteger,
  wireNullish,
  wireObject,
  wireString,
} from '../../src/lib/index.ts'

/** As node:dns/promises answers: records, or an error with a code that says whether there is nothing or it is not known. */
export type Resolve = (name: string, type: string) => Promise<readonly DnsRecord[]>

export type Resolver = {
  /** For one mail, with a limit of its own. */
  readonly forMail: () => MailResolver
}

export type MailResolver = {
  readonly resolve: Resolve
  /** What could not be told, `CODE name`, in the order it was asked. */
  readonly unknown: () => readonly string[]
}

export type ResolverLimits = {
  readonly lookupsPerMail: number
  readonly timeoutMs: number
  readonly entries: number
}

const defaultLimits: ResolverLimits = { lookupsPerMail: 60, timeoutMs: 4000, entries: 5000 }
const maxRecords = 100
const maxChunks = 32
const maxRecordLength = 8192
const minTtlMs = 60_000
const maxTtlMs = 3_600_000
/** The owner of the domain may be about to publish the key that is missing. */
const maxNoneTtlMs = 300_000

const types: ReadonlySet<string> = new Set<RecordType>(['TXT', 'A', 'AAAA', 'MX', 'PTR', 'CNAME'])

export function createResolver(
  deps: { readonly lookup: Lookup; readonly now: () => number },
  options: Partial<ResolverLimits> = {},
): Resolver {
  const { lookupsPerMail, timeoutMs, entries } = { ...defaultLimits, ...options }
  const known = new LruMap<string, { readonly answer: Answer; readonly until: number }>(entries)

  const rememberAnswer = (key: string, answer: Answer): void => {
    if (answer.kind === 'temporary') return
    const most = answer.kind === 'none' ? maxNoneTtlMs : maxTtlMs
    known.set(key, { answer, until: deps.now() + Math.min(Math.max(answer.ttlMs, minTtlMs), most) })
  }
  // Two mails that ask the same at once ask twice: on Workers no request may wait for what another one began.
  const lookUpThroughCache = async (name: string, type: RecordType): Promise<Answer> => {
    const key = `${type} ${name}`
    const found = known.get(key)
    if (found !== undefined && found.until > deps.now()) return found.answer
    known.delete(key)
    const answer = await lookUpWithTimeout(deps.lookup, name, type, timeoutMs)
    rememberAnswer(key, answer)
    return answer
  }

  return {
    forMail: () => {
      const unknown: string[] = []
      let left = lookupsPerMail
      return {
        unknown: () => unknown,
        resolve: async (name, type) => {
          const asked = name.toLowerCase().replace(/\.$/, '')
          if (!isDnsName(asked) || !isRecordType(type)) throw dnsError('EBADNAME', asked)
          left -= 1
          const answer = left < 0 ? tooManyLookups : await lookUpThroughCache(asked, type)
          if (answer.kind === 'records') return answer.records
          if (answer.kind === 'none') throw dnsError(answer.isNameKnown ? 'ENODATA' : 'ENOTFOUND', asked)
          unknown.push(`${answer.reason} ${asked}`)
          throw dnsError(answer.reason, asked)
        },
      }
    },
  }
}

const tooManyLookups: Answer = { kind: 'temporary', reason: 'ETOOMANY' }

/** The answer in time and in size, or that it is not known. A lookup never throws from here on. */
async function lookUpWithTimeout(lookup: Lookup, name: string, type: RecordType, timeoutMs: number): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const late = Promise.withResolvers<Answer>()
  const resolveAsTimedOut = (): void => late.resolve({ kind: 'temporary', reason: 'ETIMEOUT' })
  signal.addEventListener('abort', resolveAsTimedOut, { once: true })
  try {
    const answer = await Promise.race([lookup(name, type, signal), late.promise])
    return answer.kind === 'records' ? replaceEmptyOrHugeAnswer(answer) : answer
  } catch {
    return { kind: 'temporary', reason: 'EFAILED' }
  } finally {
    signal.removeEventListener('abort', resolveAsTimedOut)
  }
}

function replaceEmptyOrHugeAnswer(answer: Answer & { readonly kind: 'records' }): Answer {
  if (answer.records.length === 0) return { kind: 'none', isNameKnown: true, ttlMs: answer.ttlMs }
  const isTooLarge = answer.records.length > maxRecords || answer.records.some(isHugeRecord)
  return isTooLarge ? { kind: 'temporary', reason: 'ETOOLARGE' } : answer
}

function isHugeRecord(record: DnsRecord): boolean {
  if (typeof record === 'string') return record.length > maxRecordLength
  if (!isTxtChunks(record)) return record.exchange.length > maxRecordLength
  return record.length > maxChunks || record.reduce((size, chunk) => size + chunk.length, 0) > maxRecordLength
}

const isTxtChunks = (record: DnsRecord): record is readonly string[] => Array.isArray(record)
const isRecordType = (type: string): type is RecordType => types.has(type)
/** RFC 1035 2.3.4; blanks and controls would be another question than the one that is meant. */
const isDnsName = (name: string): boolean =>
  name.length <= 253 &&
  name.split('.').every((label) => label.length > 0 && label.length <= 63) &&
  !/[\s\p{C}]/u.test(name)

/** Thrown for nearly every mail, and read for its code alone: a stack would never be read, and costs more than the lookup. */
function dnsError(code: string, name: string): Error {
  return Object.assign(Object.create(Error.prototype) as Error, { message: `${code} ${name}`, code })
}

// Questions and answers, the same for both resolvers.

/** The kinds of record that SPF, DKIM and DMARC ask for. */
export type RecordType = 'TXT' | 'A' | 'AAAA' | 'MX' | 'PTR' | 'CNAME'

/** TXT: the chunks of one record; MX: a host and its rank; any other: a name or an address. */
export type DnsRecord = readonly string[] | { readonly exchange: string; readonly priority: number } | string

/**
 * none: the name system says that there is nothing; temporary: it is not known. They are never mixed up: without a record a domain
 * has no policy, and a policy must not vanish because a server was slow.
 */
export type Answer =
  | { readonly kind: 'records'; readonly records: readonly DnsRecord[]; readonly ttlMs: number }
  | { readonly kind: 'none'; readonly isNameKnown: boolean; readonly ttlMs: number }
  | { readonly kind: 'temporary'; readonly reason: string }

export type Lookup = (name: string, type: RecordType, signal: AbortSignal) => Promise<Answer>

// DNS over HTTPS, as JSON: the only resolver on Workers. The server is the operator's choice.

const numbers: Readonly<Record<RecordType, number>> = { A: 1, CNAME: 5, PTR: 12, MX: 15, TXT: 16, AAAA: 28 }
const maxBody = 256 * 1024
const maxAliases = 8
const [noError, noSuchName] = [0, 3]
/** Of an answer that tells no lifetime: that there is nothing. */
const noneTtlMs = 60_000

const row = wireObject({ name: wireString, type: wireInteger(), TTL: wireInteger(0), data: wireString })
const reply = wireObject({ Status: wireInteger(), Answer: wireNullish(wireArray(row, 200)) })

export function createDohLookup(fetch: (url: string, init: RequestInit) => Promise<Response>, url: string): Lookup {
  return async (name, type, signal) => {
    const question = new URL(url)
    question.searchParams.set('name', name)
    question.searchParams.set('type', type)
    const headers = { accept: 'application/dns-json' }
    const response = await fetch(question.href, { headers, redirect: 'manual', signal })
    if (response.status !== 200) return { kind: 'temporary', reason: `EHTTP${response.status}` }
    const body = await response.text()
    const read = body.length > maxBody ? misfit : readByWireRule(reply, parseJson(body))
    return read === misfit ? { kind: 'temporary', reason: 'EBADRESP' } : readDohAnswer(read, type)
  }
}

function readDohAnswer({ Status, Answer = [] }: Reading<typeof reply>, type: RecordType): Answer {
  if (Status === noSuchName) return { kind: 'none', isNameKnown: false, ttlMs: noneTtlMs }
  if (Status !== noError) return { kind: 'temporary', reason: `ERCODE${Status}` }
  const aliases = Answer.filter((each) => each.type === numbers.CNAME).map((each) => each.name.toLowerCase())
  // A loop of aliases, or too many: whether the name has records is not known.
  if (aliases.length > maxAliases || new Set(aliases).size < aliases.length)
    return { kind: 'temporary', reason: 'ELOOP' }
  const rows = Answer.filter((each) => each.type === numbers[type])
  if (rows.length === 0) return { kind: 'none', isNameKnown: true, ttlMs: noneTtlMs }
  const ttlMs = Math.min(...rows.map(({ TTL }) => TTL)) * 1000
  return { kind: 'records', records: rows.map(({ data }) => readDnsRecord(data, type)), ttlMs }
}

function readDnsRecord(data: string, type: RecordType): DnsRecord {
  if (type === 'TXT') return readTxtChunks(data)
  const name = data.replace(/\.$/, '')
  if (type !== 'MX') return name
  const [priority = '', exchange = ''] = name.split(' ')
  return { exchange, priority: Number(priority) }
}

/** Some servers write the quotes of a zone file, with its escapes; others only the text. */
function readTxtChunks(data: string): readonly string[] {
  if (!data.startsWith('"')) return [data]
  return Array.from(data.matchAll(/"((?:[^"\\]|\\.)*)"/gs), ([, chunk = '']) =>
    chunk.replace(/\\(\d{3}|.)/gs, unescapeZoneText),
  )
}

const unescapeZoneText = (_: string, escaped: string): string =>
  escaped.length === 3 ? String.fromCharCode(Number(escaped)) : escaped

// Node's own resolver is loaded when it is first used: Workers have none.

type TimedAddress = { readonly address: string; readonly ttl: number }
type NodeResolver = {
  resolve: (name: string, type: RecordType) => Promise<readonly DnsRecord[]>
  resolve4: (name: string, options: { readonly ttl: true }) => Promise<readonly TimedAddress[]>
  resolve6: (name: string, options: { readonly ttl: true }) => Promise<readonly TimedAddress[]>
  setServers: (servers: readonly string[]) => void
}
type NodeDns = { readonly Resolver: new (options: { timeout: number; tries: number }) => NodeResolver }

/** Node tells the lifetime of addresses only. */
const usualTtlMs = 300_000

export function createNodeLookup(servers?: readonly string[]): Lookup {
  let resolver: Promise<NodeResolver> | undefined
  return async (name, type) => {
    resolver ??= createNodeResolver(servers)
    try {
      return await lookUpRecords(await resolver, name, type)
    } catch (error) {
      return dnsFailureAnswer(error)
    }
  }
}

async function createNodeResolver(servers: readonly string[] | undefined): Promise<NodeResolver> {
  const { Resolver } = await importOnNode<NodeDns>('node:dns/promises')
  const resolver = new Resolver({ timeout: 1500, tries: 2 })
  if (servers !== undefined) resolver.setServers(servers)
  return resolver
}

async function lookUpRecords(resolver: NodeResolver, name: string, type: RecordType): Promise<Answer> {
  if (type !== 'A' && type !== 'AAAA') {
    return { kind: 'records', records: await resolver.resolve(name, type), ttlMs: usualTtlMs }
  }
  const found = await (type === 'A' ? resolver.resolve4(name, { ttl: true }) : resolver.resolve6(name, { ttl: true }))
  const ttlMs = Math.min(...found.map(({ ttl }) => ttl)) * 1000
  return { kind: 'records', records: found.map(({ address }) => address), ttlMs }
}

function dnsFailureAnswer(error: unknown): Answer {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'EFAILED'
  if (code === 'ENODATA') return { kind: 'none', isNameKnown: true, ttlMs: 0 }
  if (code === 'ENOTFOUND' || code === 'EBADNAME') return { kind: 'none', isNameKnown: false, ttlMs: 0 }
  return { kind: 'temporary', reason: code }
}
