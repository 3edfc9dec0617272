// How the gateway is reached, and what proves those who reach it.

import type { PublicUrlState } from '../../contract/index.ts'
import { type ConfigFacts, isLoopbackHostName, type SecretFacts } from './facts.ts'
import type { Finding, Severity } from './finding.ts'

/** 128 bits as hexadecimal digits. */
const longEnough = 32
/** Random text of that length has more, whatever its alphabet. */
const variedEnough = 8

export function listenerFindings(facts: ConfigFacts): readonly Finding[] {
  const { host, publicUrl, metrics, connections, adminToken } = facts
  const found: Finding[] = []
  if (!isLoopbackHostName(host) && publicUrl?.startsWith('https://') !== true)
    found.push({
      id: 'AC-101',
      severity: 'critical',
      where: `PARLEY_HOST=${host}`,
      weak: 'messages and tokens cross the network unencrypted',
      remedy: 'listen on 127.0.0.1 behind a proxy with TLS, and set PARLEY_PUBLIC_URL to its https address',
    })
  found.push(...strangerFindings(facts), ...addressFindings(facts))
  if (metrics === 'public')
    found.push({
      id: 'AC-102',
      severity: 'warning',
      where: 'PARLEY_METRICS=public',
      weak: 'names of connections and how busy they are can be read without a token',
      remedy: 'unset it, and scrape from this machine or with a token',
    })
  const hooked = connections.filter((each) => each.webhookSecrets.length > 0)
  if (publicUrl === undefined && hooked.length > 0)
    found.push({
      id: 'AC-103',
      severity: 'info',
      where: hooked.map(({ key }) => key).join(', '),
      weak: 'its platform needs an address to deliver to, and this gateway does not know its own',
      remedy: 'set PARLEY_PUBLIC_URL',
    })
  for (const { key, webhookSecrets } of hooked) {
    for (const each of webhookSecrets.filter(isWeakSecret))
      found.push({
        id: 'AC-104',
        severity: 'critical',
        where: `${key}, ${each.name}`,
        weak: `${secretStrengthText(each)}: an attacker who guesses it can write as any user`,
        remedy: 'take a random one: openssl rand -hex 32',
      })
  }
  if (adminToken !== undefined && isWeakSecret(adminToken))
    found.push({
      id: 'AC-105',
      severity: 'critical',
      where: adminToken.name,
      weak: `${secretStrengthText(adminToken)}: an attacker who guesses it operates this gateway`,
      remedy: 'take a random one: openssl rand -hex 32',
    })
  return found
}

/** Settings by which a stranger can pass for a caller of this machine. */
function strangerFindings({ host, publicUrl, connections }: ConfigFacts): readonly Finding[] {
  const found: Finding[] = []
  const hooked = connections.filter((each) => each.webhookSecrets.length > 0)
  const guests = connections.filter(({ takesGuests, access }) => takesGuests && access.mode === 'public')
  if (publicUrl === undefined && isLoopbackHostName(host) && hooked.length > 0 && guests.length > 0)
    found.push({
      id: 'AC-106',
      severity: 'critical',
      where: guests.map(({ key }) => key).join(', '),
      weak: `platforms reach this gateway from outside (${hooked.map(({ key }) => key).join(', ')}), so a proxy or tunnel leads to it; strangers who come that way without a header that tells are guests, and talk to its agent without a token`,
      remedy: 'set PARLEY_PUBLIC_URL: then there are no guests',
    })
  for (const { key } of connections.filter((each) => each.trustsLoopback && publicUrl !== undefined))
    found.push({
      id: 'AC-108',
      severity: 'critical',
      where: `${key}, trustLoopback`,
      weak: 'what a proxy or tunnel passes on comes from this machine, too, and may name any author',
      remedy: 'remove trustLoopback where PARLEY_PUBLIC_URL is set',
    })
  for (const { key } of connections.filter((each) => each.talksPlainly && publicUrl?.startsWith('https:') === true))
    found.push({
      id: 'AC-110',
      severity: 'critical',
      where: `${key}, insecureLoopback`,
      weak: 'a program that opens a port of this machine passes for a server elsewhere, and nothing there is proven by TLS',
      remedy: 'remove insecureLoopback: it is for tests against a server on this machine',
    })
  return found
}

function addressFindings({ publicUrl, publicUrlFound }: ConfigFacts): readonly Finding[] {
  if (publicUrl === undefined || publicUrlFound?.remedy === undefined) return []
  const { state, remedy, forwardedBy = [], host } = publicUrlFound
  const told = host === undefined ? '' : ` (Host ${host}, forwarding headers: ${forwardedBy.join(', ') || 'none'})`
  const severity = addressSeverity[state] ?? 'info'
  return [{ id: 'AC-107', severity, where: 'PARLEY_PUBLIC_URL', weak: `${addressWords[state]}${told}`, remedy }]
}

/** Links with which people decide are sent with this address: it must not lead to another server. */
const addressSeverity: Readonly<Partial<Record<PublicUrlState, Severity>>> = {
  other_server: 'critical',
  looks_local: 'warning',
  unreachable: 'warning',
}

const addressWords: Readonly<Record<PublicUrlState, string>> = {
  checking: 'it is being asked',
  reached: 'it leads here',
  looks_local: 'it leads here, and what comes that way looks as if it came from this machine',
  another_gateway: 'another Parley process answers there',
  other_server: 'another server answers there',
  unreachable: 'it could not be reached',
}

function isWeakSecret({ length, differentCharacters }: SecretFacts): boolean {
  return length < longEnough || differentCharacters < variedEnough
}

function secretStrengthText({ length, differentCharacters }: SecretFacts): string {
  return `it has ${length} characters, ${differentCharacters} different ones`
}
