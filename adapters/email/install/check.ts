// Checks the DNS records of a domain against what they should be.
import type { DkimRecord } from './dkim-keys.ts'
import type { ZoneLookup } from './look-up.ts'

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
  const publishedKey = (text: string): string => (/(?:^|;)\s*p=([^;]*)/i.exec(text)?.[1] ?? '').replace(/\s/g, '')
  if (keys.length === 1 && publishedKey(keys[0] ?? '') === publishedKey(value))
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
