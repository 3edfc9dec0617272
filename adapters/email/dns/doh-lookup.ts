// DNS over HTTPS, as JSON: the only resolver on Workers. The server is the operator's choice.
import {
  misfit,
  type Reading,
  wireArray,
  wireInteger,
  wireNullish,
  wireObject,
  wireString,
} from '../../../src/lib/index.ts'
import type { Answer, DnsRecord, Lookup, RecordType } from './lookup.ts'

const numbers: Readonly<Record<RecordType, number>> = { A: 1, CNAME: 5, PTR: 12, MX: 15, TXT: 16, AAAA: 28 }
const maxBody = 256 * 1024
const maxAliases = 8
const [noError, noSuchName] = [0, 3]
/** Of an answer that tells no lifetime: that there is nothing. */
const noneTtlMs = 60_000

const row = wireObject({ name: wireString, type: wireInteger(), TTL: wireInteger(0), data: wireString })
const reply = wireObject({ Status: wireInteger(), Answer: wireNullish(wireArray(row, 200)) })

export function dohLookup(fetch: (url: string, init: RequestInit) => Promise<Response>, url: string): Lookup {
  return async (name, type, signal) => {
    const question = new URL(url)
    question.searchParams.set('name', name)
    question.searchParams.set('type', type)
    const headers = { accept: 'application/dns-json' }
    const response = await fetch(question.href, { headers, redirect: 'manual', signal })
    if (response.status !== 200) return { kind: 'temporary', reason: `EHTTP${response.status}` }
    const body = await response.text()
    const read = body.length > maxBody ? misfit : reply(parseJson(body))
    return read === misfit ? { kind: 'temporary', reason: 'EBADRESP' } : readDohAnswer(read, type)
  }
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
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
