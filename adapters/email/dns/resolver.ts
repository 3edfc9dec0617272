// The resolver for authentication: every answer bounded, remembered for a while, and counted for each mail, so that no
// domain can make a mail expensive. What is not known is never remembered.
import type { Answer, DnsRecord, Lookup, RecordType } from './lookup.ts'

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
  const known = new Map<string, { readonly answer: Answer; readonly until: number }>()

  const rememberAnswer = (key: string, answer: Answer): void => {
    if (answer.kind === 'temporary') return
    const most = answer.kind === 'none' ? maxNoneTtlMs : maxTtlMs
    const [oldest] = known.keys()
    if (known.size >= entries && oldest !== undefined) known.delete(oldest)
    known.set(key, { answer, until: deps.now() + Math.min(Math.max(answer.ttlMs, minTtlMs), most) })
  }
  // Two mails that ask the same at once ask twice: on Workers no request may wait for what another one began.
  const cachedAnswer = async (name: string, type: RecordType): Promise<Answer> => {
    const key = `${type} ${name}`
    const found = known.get(key)
    if (found !== undefined && found.until > deps.now()) return found.answer
    known.delete(key)
    const answer = await lookUpInTime(deps.lookup, name, type, timeoutMs)
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
          const answer = left < 0 ? tooManyLookups : await cachedAnswer(asked, type)
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
async function lookUpInTime(lookup: Lookup, name: string, type: RecordType, timeoutMs: number): Promise<Answer> {
  const signal = AbortSignal.timeout(timeoutMs)
  const late = Promise.withResolvers<Answer>()
  const answerLate = (): void => late.resolve({ kind: 'temporary', reason: 'ETIMEOUT' })
  signal.addEventListener('abort', answerLate, { once: true })
  try {
    const answer = await Promise.race([lookup(name, type, signal), late.promise])
    return answer.kind === 'records' ? withinRecordLimits(answer) : answer
  } catch {
    return { kind: 'temporary', reason: 'EFAILED' }
  } finally {
    signal.removeEventListener('abort', answerLate)
  }
}

function withinRecordLimits(answer: Answer & { readonly kind: 'records' }): Answer {
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
