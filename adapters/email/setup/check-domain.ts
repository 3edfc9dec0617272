// The DNS records of a mail domain: which it needs, and whether DNS has them.

import { importOnNode } from '../../../src/lib/index.ts'
import type { DkimRecord } from '../dkim/keys.ts'

export type Finding = {
  readonly what: string
  readonly state: 'ok' | 'missing' | 'wrong' | 'unknown'
  readonly found: string
  /** Empty where there is nothing to do. */
  readonly remedy: string
}

export async function checkDomain(
  domain: string,
  keys: readonly DkimRecord[],
  { mx, txt }: ZoneLookup,
): Promise<readonly Finding[]> {
  const [servers, own, policy, ...published] = await Promise.all([
    mx(domain),
    txt(domain),
    txt(`_dmarc.${domain}`),
    ...keys.map(({ selector }) => txt(`${selector}._domainkey.${domain}`)),
  ])
  return [
    servers === undefined ? unansweredFinding('MX') : mxFinding(servers),
    own === undefined
      ? unansweredFinding('SPF')
      : singleRecordFinding(
          'SPF',
          own.filter((text) => /^v=spf1(?: |$)/i.test(text)),
          spfRemedy,
        ),
    ...keys.map((key, at) => {
      const found = published[at]
      return found === undefined ? unansweredFinding(`DKIM ${key.selector}`) : dkimFinding(key, found)
    }),
    policy === undefined
      ? unansweredFinding('DMARC')
      : singleRecordFinding(
          'DMARC',
          policy.filter((text) => /^v=DMARC1/i.test(text)),
          dmarcRemedy,
        ),
  ]
}

function unansweredFinding(what: string): Finding {
  return {
    what,
    state: 'unknown',
    found: 'no answer',
    remedy: 'no name server answered; try again, or ask another with --server',
  }
}

function mxFinding(servers: readonly string[]): Finding {
  const found = servers.join(', ')
  if (servers.length > 0 && servers.every((each) => each !== '' && each !== '.')) return okFinding('MX', found)
  return { what: 'MX', state: 'missing', found, remedy: 'no mail gets here; add the MX record of parley email setup' }
}

function singleRecordFinding(what: string, found: readonly string[], judge: (text: string) => string): Finding {
  const [text, ...more] = found
  const add = `add the ${what} record of parley email setup`
  if (text === undefined) return { what, state: 'missing', found: '', remedy: add }
  if (more.length > 0)
    return {
      what,
      state: 'wrong',
      found: `${found.length} records`,
      remedy: `only one may be there; join them into one`,
    }
  const remedy = judge(text)
  return remedy === ''
    ? okFinding(what, printableText(text))
    : { what, state: 'wrong', found: printableText(text), remedy }
}

function spfRemedy(text: string): string {
  return /[?+]all\b/i.test(text) ? 'it lets any server send; end it with ~all or -all' : ''
}

function dmarcRemedy(text: string): string {
  const policy = /;\s*p\s*=\s*([a-z]+)/i.exec(text)?.[1]?.toLowerCase()
  if (policy === 'quarantine' || policy === 'reject') return ''
  return policy === 'none'
    ? 'it stops no forged mail; set p=quarantine, later p=reject'
    : 'it has no policy; set p=quarantine'
}

function dkimFinding({ selector, value }: DkimRecord, found: readonly string[]): Finding {
  const what = `DKIM ${selector}`
  const keys = found.filter((text) => /(?:^|;)\s*p=/i.test(text))
  if (keys.length === 0)
    return { what, state: 'missing', found: '', remedy: 'receivers do not trust its signatures; add the record' }
  const readPublishedKey = (text: string): string => (/(?:^|;)\s*p=([^;]*)/i.exec(text)?.[1] ?? '').replace(/\s/g, '')
  if (keys.length === 1 && readPublishedKey(keys[0] ?? '') === readPublishedKey(value))
    return okFinding(what, 'the key of this gateway')
  return { what, state: 'wrong', found: 'another key', remedy: 'replace it by the record of parley email setup' }
}

function okFinding(what: string, found: string): Finding {
  return { what, state: 'ok', found, remedy: '' }
}

/** Others' words on a terminal. */
function printableText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 120)
}

// DNS is asked as a server that delivers mail does. Node only.

/** Undefined: no answer. Empty: there is nothing. */
export interface ZoneLookup {
  mx(name: string): Promise<readonly string[] | undefined>
  txt(name: string): Promise<readonly string[] | undefined>
}

type Resolver = {
  setServers(servers: readonly string[]): void
  resolveMx(name: string): Promise<readonly { readonly exchange: string; readonly priority: number }[]>
  resolveTxt(name: string): Promise<readonly (readonly string[])[]>
}

/** `server`: an address with or without a port; without it whatever this machine asks. */
export async function createZoneLookup(server: string | undefined): Promise<ZoneLookup> {
  const { Resolver } = await importOnNode<{
    Resolver: new (options: { readonly timeout: number; readonly tries: number }) => Resolver
  }>('node:dns/promises')
  const resolver = new Resolver({ timeout: 3000, tries: 2 })
  if (server !== undefined) resolver.setServers([server])
  return {
    mx: (domain) =>
      lookUpOrUndefined(async () => {
        const found = await resolver.resolveMx(domain)
        return found.toSorted((one, other) => one.priority - other.priority).map(({ exchange }) => exchange)
      }),
    txt: (domain) =>
      lookUpOrUndefined(async () => (await resolver.resolveTxt(domain)).map((strings) => strings.join(''))),
  }
}

async function lookUpOrUndefined(ask: () => Promise<readonly string[]>): Promise<readonly string[] | undefined> {
  try {
    return await ask()
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
    return code === 'ENODATA' || code === 'ENOTFOUND' ? [] : undefined
  }
}

// Records lead mail to this gateway, and let receivers trust the mail that comes from it.

export type ZoneRecord = {
  readonly type: 'MX' | 'TXT'
  readonly name: string
  readonly value: string
  readonly why: string
}

export type Zone = { readonly domain: string; readonly host: string; readonly keys: readonly DkimRecord[] }

export function requiredRecords({ domain, host, keys }: Zone): readonly ZoneRecord[] {
  return [
    { type: 'MX', name: domain, value: `10 ${host}`, why: 'mail for the agents comes here' },
    { type: 'TXT', name: domain, value: 'v=spf1 mx ~all', why: 'who may send for it (SPF)' },
    ...keys.map(({ selector, value }) => ({
      type: 'TXT' as const,
      name: `${selector}._domainkey.${domain}`,
      value,
      why: 'what its signatures are checked with (DKIM)',
    })),
    {
      type: 'TXT' as const,
      name: `_dmarc.${domain}`,
      value: 'v=DMARC1; p=quarantine; adkim=s',
      why: 'what to do with mail that is not signed so (DMARC)',
    },
  ]
}

/** One that helps and is not needed. */
export function optionalRecords({ domain }: Zone): readonly ZoneRecord[] {
  const reports = `v=TLSRPTv1; rua=mailto:postmaster@${domain}`
  return [{ type: 'TXT', name: `_smtp._tls.${domain}`, value: reports, why: 'reports about failing TLS (TLS-RPT)' }]
}

/** As a zone file has it; texts in strings of at most 255 bytes (RFC 1035, 3.3). */
export function formatZoneLine({ type, name, value }: ZoneRecord): string {
  if (type === 'MX') return `${name}. 3600 IN MX ${value}.`
  const strings = value.match(/.{1,255}/g) ?? ['']
  return `${name}. 3600 IN TXT ${strings.map((each) => `"${each}"`).join(' ')}`
}
