// The trusted issuers of a configuration: read as a whole, every problem told.
import { readTrustedIssuers, type TrustedIssuer, type TrustedIssuers } from './trusted-issuers.ts'

/** Trust without a verifier of signatures would be trust in a name. */
export function configuredIssuers(
  entries: readonly TrustedIssuer[],
  hasVerifier: boolean,
  problems: string[],
): TrustedIssuers {
  if (entries.length > 0 && !hasVerifier)
    problems.push(
      'trustedIssuers needs ports.attestations, which checks their signatures; set it, or leave trustedIssuers empty',
    )
  try {
    return readTrustedIssuers(entries)
  } catch (error) {
    problems.push(error instanceof Error ? error.message.replace('[identity] ', '') : 'trustedIssuers is invalid')
    return new Map()
  }
}
