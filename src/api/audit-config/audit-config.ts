// The configuration audit: weak settings, by id. Pure: what is looked at comes as facts, so that the same check runs before a
// start and beside one.

import type { PublicUrlState } from '../../contract/probe.ts'
import { defaultRetention } from '../../db/retention.ts'
import { accessFindings, issuerFindings, tokenFindings } from './access-findings.ts'
import {
  type ConfigFacts,
  type ConnectionFacts,
  isLoopbackHostName,
  isOpenToStrangers,
  type SecretFacts,
} from './facts.ts'
import type { Finding, Severity } from './finding.ts'

const severityOrder: readonly Severity[] = ['critical', 'warning', 'info']

/** The worst first, then by id. */
export function auditConfig(facts: ConfigFacts): readonly Finding[] {
  const groups = [accessFindings, agentFindings, issuerFindings, exposureFindings, tokenFindings, storageFindings]
  return groups
    .flatMap((group) => group(facts))
    .toSorted(
      (a, b) => severityOrder.indexOf(a.severity) - severityOrder.indexOf(b.severity) || a.id.localeCompare(b.id),
    )
}

// What strangers could make agents do, and which other gateways and issuers are trusted.

function agentFindings(facts: ConfigFacts): readonly Finding[] {
  return [...strangerReachFindings(facts), ...trustedIssuerFindings(facts)]
}

function strangerReachFindings({ agents, connections }: ConfigFacts): readonly Finding[] {
  const found: Finding[] = []
  for (const { slug, access, writingTools, unaskedTools, mcpServers } of agents) {
    const open = connections.filter((each) => canConnectionReachAgent(slug, each) && each.access.mode === 'public')
    const isOpen = open.length > 0 && (access === undefined || access.mode === 'public')
    const where = `agent ${slug}`
    const through = open.map(({ key }) => key).join(', ')
    if (isOpen && writingTools.length > 0)
      found.push({
        id: 'AC-008',
        severity: open.some(isOpenToStrangers) ? 'critical' : 'info',
        where,
        weak: `every sender reaches it through ${through}, and it writes without asking: ${writingTools.join(', ')}`,
        remedy: "give the agent an access rule of its own, or its tools action_policy: 'preview'",
      })
    if (unaskedTools.length > 0)
      found.push({
        id: 'AC-016',
        severity: 'warning',
        where,
        weak: `no person is asked before these run, although they have approval terms: ${unaskedTools.join(', ')}`,
        remedy:
          "remove 'direct' from the tool's action_policy or the agent's actionPolicy, or the approval from the tool",
      })
    if (isOpen && mcpServers.length > 0)
      found.push({
        id: 'AC-009',
        severity: open.some(isOpenToStrangers) ? 'warning' : 'info',
        where,
        weak: `every sender reaches it through ${through}, with whatever ${mcpServers.join(', ')} offers`,
        remedy: 'give the agent an access rule of its own, or allow the tools one by one',
      })
  }
  return found
}

/** Where several agents share a connection, a sender who begins a message with a name reaches that one. */
function canConnectionReachAgent(slug: string, { agent, isShared }: ConnectionFacts): boolean {
  return isShared || agent === slug
}

function trustedIssuerFindings({ trustedIssuers }: ConfigFacts): readonly Finding[] {
  return trustedIssuers.flatMap((each) => {
    const found: Finding[] = []
    if (each.max_ttl_seconds === undefined)
      found.push({
        id: 'AC-010',
        severity: 'info',
        where: `issuer ${each.issuer}`,
        weak: 'its evidence counts for as long as any may, ten minutes',
        remedy: 'set max_ttl_seconds to what it needs, such as 120',
      })
    if (each.allow_on_behalf_of === true)
      found.push({
        id: 'AC-011',
        severity: 'warning',
        where: `issuer ${each.issuer}`,
        weak: 'its word is enough that a caller acts for a person of its namespace',
        remedy: 'leave allow_on_behalf_of out unless that gateway is run by you',
      })
    return found
  })
}

// How the gateway is reached, and what authenticates callers.

/** 128 bits as hexadecimal digits. */
const longEnough = 32
/** Random text of that length has more, whatever its alphabet. */
const variedEnough = 8

function exposureFindings(facts: ConfigFacts): readonly Finding[] {
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
  found.push(...strangerTakenForLocalFindings(facts), ...publicUrlFindings(facts))
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
function strangerTakenForLocalFindings({ host, publicUrl, connections }: ConfigFacts): readonly Finding[] {
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

function publicUrlFindings({ publicUrl, publicUrlFound }: ConfigFacts): readonly Finding[] {
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

// Where data lies, for how long, and who else could read it.

const secureModes: readonly (string | undefined)[] = ['require', 'verify-ca', 'verify-full']

function storageFindings(facts: ConfigFacts): readonly Finding[] {
  const { databaseServer, retention, dataDirMode } = facts
  const found: Finding[] = []
  if (
    databaseServer !== undefined &&
    !isLocalDatabase(databaseServer.host) &&
    !secureModes.includes(databaseServer.sslMode)
  )
    found.push({
      id: 'AC-301',
      severity: 'critical',
      where: 'DATABASE_URL',
      weak: 'messages and the password of the database cross the network unencrypted',
      remedy: 'add ?sslmode=require, or better verify-full, to DATABASE_URL',
    })
  for (const name of ['contentDays', 'receiptDays', 'auditDays'] as const) {
    if (retention[name] > defaultRetention[name])
      found.push({
        id: 'AC-303',
        severity: 'info',
        where: `retention.${name}`,
        weak: `${retention[name]} days instead of ${defaultRetention[name]}`,
        remedy: 'keep it so if you have a reason to; what is not there cannot leak',
      })
  }
  // A group that may only pass through it is PostgreSQL's, where the gateway runs as root.
  if (dataDirMode !== undefined && (dataDirMode & 0o067) !== 0)
    found.push({
      id: 'AC-304',
      severity: 'critical',
      where: 'PARLEY_DATA_DIR',
      weak: `the folder with the database and the admin token is open to others (mode ${(dataDirMode & 0o777).toString(8)})`,
      remedy: 'chmod 700 it',
    })
  return found
}

/** A path is a socket on this machine. */
function isLocalDatabase(host: string): boolean {
  return host === '' || host.startsWith('/') || isLoopbackHostName(host)
}
