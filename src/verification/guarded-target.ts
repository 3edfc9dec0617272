// Whether a URL from outside may be requested at all, before anything is resolved or connected.
import type { FetchRefusal, GuardedFetchOptions } from '../contract/index.ts'
import { isPublicAddress } from './public-address.ts'

export type TargetRules = Pick<GuardedFetchOptions, 'hosts' | 'origins'> & {
  /** False: the fetch resolves names by itself, so that nothing is known about the address. */
  readonly pins: boolean
  readonly isPublic?: (address: string) => boolean
}

export type TargetVerdict =
  /** `literal`: the address it names, where it names no host. */
  | { readonly ok: true; readonly url: URL; readonly literal: string | undefined }
  | { readonly ok: false; readonly reason: FetchRefusal }

/** Names that stand for something near by, whatever a resolver says. */
const nearNames = /^(?:[^.]+|.*\.(?:localhost|local|internal|home\.arpa))$/

export function checkTarget(text: string, rules: TargetRules): TargetVerdict {
  if (!URL.canParse(text)) return refused('bad_url')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused('scheme')
  if (url.username !== '' || url.password !== '') return refused('credentials')
  const isWrittenDown = rules.origins?.includes(url.origin) === true
  if (url.protocol === 'http:' && !isWrittenDown) return refused('scheme')
  // The parser leaves out the port that goes with the scheme.
  if (url.port !== '' && !isWrittenDown) return refused('port')
  if (url.hostname.endsWith('.')) return refused('host')
  if (rules.hosts !== undefined && !rules.hosts.includes(url.hostname)) return refused('host')
  return judgeHost(url, rules, isWrittenDown)
}

function judgeHost(url: URL, rules: TargetRules, isWrittenDown: boolean): TargetVerdict {
  const literal = literalIn(url)
  if (literal !== undefined) {
    if (!rules.pins) return isWrittenDown ? { ok: true, url, literal } : refused('address')
    const { isPublic = isPublicAddress } = rules
    return isPublic(literal) ? { ok: true, url, literal } : refused('address')
  }
  return nearNames.test(url.hostname) && !isWrittenDown ? refused('address') : { ok: true, url, literal }
}

/** Every spelling of an IPv4 (decimal, octal, hex, short) has become four numbers in the parser's hands. */
function literalIn({ hostname }: URL): string | undefined {
  if (hostname.startsWith('[')) return hostname.slice(1, -1)
  return /^\d{1,3}(?:\.\d{1,3}){3}$/.test(hostname) ? hostname : undefined
}

function refused(reason: FetchRefusal): TargetVerdict {
  return { ok: false, reason }
}
