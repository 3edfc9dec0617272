// How the gateway is reached, and what proves those who reach it.
import { type ConfigFacts, isLoopbackHost, type SecretFacts } from './facts.ts'
import type { Finding } from './finding.ts'

/** 128 bits as hexadecimal digits. */
const longEnough = 32
/** Random text of that length has more, whatever its alphabet. */
const variedEnough = 8

export function listenerFindings(facts: ConfigFacts): readonly Finding[] {
  const { host, publicUrl, metrics, connections, adminToken } = facts
  const found: Finding[] = []
  if (!isLoopbackHost(host) && publicUrl?.startsWith('https://') !== true)
    found.push({
      ...{ id: 'AC-101', severity: 'critical', where: `PARLEY_HOST=${host}` },
      weak: 'messages and tokens cross the network unencrypted',
      remedy: 'listen on 127.0.0.1 behind a proxy with TLS, and set PARLEY_PUBLIC_URL to its https address',
    })
  if (metrics === 'public')
    found.push({
      ...{ id: 'AC-102', severity: 'warning', where: 'PARLEY_METRICS=public' },
      weak: 'names of connections and how busy they are can be read by everybody',
      remedy: 'unset it, and scrape from this machine or with a token',
    })
  const hooked = connections.filter((each) => each.webhookSecrets.length > 0)
  if (publicUrl === undefined && hooked.length > 0)
    found.push({
      ...{ id: 'AC-103', severity: 'info', where: hooked.map(({ key }) => key).join(', ') },
      weak: 'its platform needs an address to deliver to, and this gateway does not know its own',
      remedy: 'set PARLEY_PUBLIC_URL',
    })
  for (const { key, webhookSecrets } of hooked) {
    for (const each of webhookSecrets.filter(isWeak))
      found.push({
        ...{ id: 'AC-104', severity: 'critical', where: `${key}, ${each.name}` },
        weak: `${measured(each)}: whoever guesses it can write as anybody`,
        remedy: 'take a random one: openssl rand -hex 32',
      })
  }
  if (adminToken !== undefined && isWeak(adminToken))
    found.push({
      ...{ id: 'AC-105', severity: 'critical', where: adminToken.name },
      weak: `${measured(adminToken)}: whoever guesses it operates this gateway`,
      remedy: 'take a random one: openssl rand -hex 32',
    })
  return found
}

function isWeak({ length, differentCharacters }: SecretFacts): boolean {
  return length < longEnough || differentCharacters < variedEnough
}

function measured({ length, differentCharacters }: SecretFacts): string {
  return `it has ${length} characters, ${differentCharacters} different ones`
}
