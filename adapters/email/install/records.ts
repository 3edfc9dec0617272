// The DNS records a domain needs so that mail gets to this gateway, and so that receivers trust the mail that comes from it.
import type { DkimRecord } from './dkim-keys.ts'

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
