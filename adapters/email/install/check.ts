// Checks the DNS records of a domain against what they should be.
import type { KeyRecord } from './dkim-keys.ts'
import type { Lookup } from './look-up.ts'

export type Finding = {
  readonly what: string
  readonly state: 'ok' | 'missing' | 'wrong' | 'unknown'
  readonly found: string
  /** Empty where there is nothing to do. */
  readonly remedy: string
}

export async function checkDomain(
  domain: string,
  keys: readonly KeyRecord[],
  { mx, txt }: Lookup,
): Promise<readonly Finding[]> {
  const [servers, own, policy, ...published] = await Promise.all([
    mx(domain),
    txt(domain),
    txt(`_dmarc.${domain}`),
    ...keys.map(({ selector }) => txt(`${selector}._domainkey.${domain}`)),
  ])
  return [
    servers === undefined ? unanswered('MX') : mxFinding(servers),
    own === undefined
      ? unanswered('SPF')
      : one(
          'SPF',
          own.filter((text) => /^v=spf1(?: |$)/i.test(text)),
          isSpf,
        ),
    ...keys.map((key, at) => {
      const found = published[at]
      return found === undefined ? unanswered(`DKIM ${key.selector}`) : dkimFinding(key, found)
    }),
    policy === undefined
      ? unanswered('DMARC')
      : one(
          'DMARC',
          policy.filter((text) => /^v=DMARC1/i.test(text)),
          isPolicy,
        ),
  ]
}

function unanswered(what: string): Finding {
  return {
    what,
    state: 'unknown',
    found: 'no answer',
    remedy: 'no name server answered; try again, or ask another with --server',
  }
}

function mxFinding(servers: readonly string[]): Finding {
  const found = servers.join(', ')
  if (servers.length > 0 && servers.every((each) => each !== '' && each !== '.')) return ok('MX', found)
  return { what: 'MX', state: 'missing', found, remedy: 'no mail gets here; add the MX record of parley email setup' }
}

function one(what: string, found: readonly string[], judge: (text: string) => string): Finding {
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
  return remedy === '' ? ok(what, shown(text)) : { what, state: 'wrong', found: shown(text), remedy }
}

function isSpf(text: string): string {
  return /[?+]all\b/i.test(text) ? 'it lets any server send; end it with ~all or -all' : ''
}

function isPolicy(text: string): string {
  const policy = /;\s*p\s*=\s*([a-z]+)/i.exec(text)?.[1]?.toLowerCase()
  if (policy === 'quarantine' || policy === 'reject') return ''
  return policy === 'none'
    ? 'it stops no forged mail; set p=quarantine, later p=reject'
    : 'it has no policy; set p=quarantine'
}

function dkimFinding({ selector, value }: KeyRecord, found: readonly string[]): Finding {
  const what = `DKIM ${selector}`
  const keys = found.filter((text) => /(?:^|;)\s*p=/i.test(text))
  if (keys.length === 0)
    return { what, state: 'missing', found: '', remedy: 'receivers do not trust its signatures; add the record' }
  const keyIn = (text: string): string => (/(?:^|;)\s*p=([^;]*)/i.exec(text)?.[1] ?? '').replace(/\s/g, '')
  if (keys.length === 1 && keyIn(keys[0] ?? '') === keyIn(value)) return ok(what, 'the key of this gateway')
  return { what, state: 'wrong', found: 'another key', remedy: 'replace it by the record of parley email setup' }
}

function ok(what: string, found: string): Finding {
  return { what, state: 'ok', found, remedy: '' }
}

/** Others' words on a terminal. */
function shown(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 120)
}
