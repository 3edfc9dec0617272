// Whether an address may receive notifications, as far as the address alone says. The sender checks again when it connects.
import { checkTarget } from '../../../src/lib/index.ts'

const problems: Readonly<Record<string, string>> = {
  bad_url: 'must be an absolute URL',
  scheme: 'must be an https URL',
  credentials: 'must not carry a user name or password',
  port: 'must use the port that goes with https',
  host: 'must not end with a dot',
  address: 'must not be a private, local or reserved address',
}

/** What is wrong with it; undefined: nothing. `allow`: origins and hosts that the operator wrote down. */
export function pushTargetProblem(url: string, allow: readonly string[]): string | undefined {
  if (/[\s\u0000-\u001f\u007f]/.test(url)) return 'must not contain blanks or control characters'
  if (!URL.canParse(url)) return problems['bad_url']
  const { origin, host, hostname } = new URL(url)
  const isAllowed = allow.some((entry) => entry === origin || entry === host || entry === hostname)
  const judged = checkTarget(url, {
    pins: true,
    ...(isAllowed ? { origins: [origin], isPublic: () => true } : {}),
  })
  return judged.ok ? undefined : (problems[judged.reason] ?? 'is not allowed')
}
