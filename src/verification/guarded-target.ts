// Whether a URL from outside may be requested at all, before anything is resolved or connected.
import type { FetchRefusal, SafeFetchOptions } from '../contract/index.ts'
import { isPublicAddress } from './public-address.ts'

export type TargetRules = Pick<SafeFetchOptions, 'hosts' | 'origins'> & {
  /** False: the fetch resolves names by itself, so that nothing is known about the address. */
  readonly pins: boolean
  readonly isPublic?: (address: string) => boolean
}

export type TargetCheck =
  /** `literal`: the address it names, where it names no host. */
  | { readonly ok: true; readonly url: URL; readonly literal: string | undefined }
  | { readonly ok: false; readonly reason: FetchRefusal }

/** Names that stand for something near by, whatever a resolver says. */
const nearNames = /^(?:[^.]+|.*\.(?:localhost|local|internal|home\.arpa))$/

export function checkTarget(text: string, rules: TargetRules): TargetCheck {
  if (!URL.canParse(text)) return refuseTarget('bad_url')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuseTarget('scheme')
  if (url.username !== '' || url.password !== '') return refuseTarget('credentials')
  const isWrittenDown = rules.origins?.includes(url.origin) === true
  if (url.protocol === 'http:' && !isWrittenDown) return refuseTarget('scheme')
  // The parser leaves out the port that goes with the scheme.
  if (url.port !== '' && !isWrittenDown) return refuseTarget('port')
  if (url.hostname.endsWith('.')) return refuseTarget('host')
  if (rules.hosts !== undefined && !rules.hosts.includes(url.hostname)) return refuseTarget('host')
  return judgeHost(url, rules, isWrittenDown)
}

function judgeHost(url: URL, rules: TargetRules, isWrittenDown: boolean): TargetCheck {
  const literal = literalAddress(url)
  if (literal !== undefined) {
    if (!rules.pins) return isWrittenDown ? { ok: true, url, literal } : refuseTarget('address')
    const { isPublic = isPublicAddress } = rules
    return isPublic(literal) ? { ok: true, url, literal } : refuseTarget('address')
  }
  return nearNames.test(url.hostname) && !isWrittenDown ? refuseTarget('address') : { ok: true, url, literal }
}

/** Every spelling of an IPv4 (decimal, octal, hex, short) has become four numbers in the parser's hands. */
function literalAddress({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(hostname) ? hostname : undefined
}

function refuseTarget(reason: FetchRefusal): TargetCheck {
  return { ok: false, reason }
}
