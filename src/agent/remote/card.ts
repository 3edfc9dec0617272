// An agent card, read: where the agent can be reached and how. What it says about itself is a stranger's text and goes nowhere.
import type { Fields } from '../../contract/index.ts'
import { asFields, isPlainObject } from '../fields.ts'
import { RemoteFault } from './fault.ts'
import type { Binding, RemoteInterface } from './wire.ts'

export type RemoteCard = {
  /** In the order the agent prefers them. */
  readonly interfaces: readonly RemoteInterface[]
  readonly isStreaming: boolean
  /** It says that its texts are Markdown unless told otherwise. */
  readonly writesMarkdown: boolean
}

const maxInterfaces = 32

export function readCard(card: Fields): RemoteCard {
  const listed = boundedInterfaces(card['supportedInterfaces']).flatMap(readInterface)
  const modes = Array.isArray(card['defaultOutputModes']) ? card['defaultOutputModes'] : []
  return {
    interfaces: listed.length > 0 ? listed : legacyInterfaces(card),
    isStreaming: asFields(card['capabilities'])['streaming'] === true,
    writesMarkdown: modes.includes('text/markdown'),
  }
}

/** The first that we speak: 1.0 before 0.3, and 0.3 only where that is allowed. */
export function chooseInterface({ interfaces }: RemoteCard, allows03: boolean): RemoteInterface {
  const current = interfaces.find(({ dialect }) => dialect === '1.0')
  const legacy = allows03 ? interfaces.find(({ dialect }) => dialect === '0.3') : undefined
  const chosen = current ?? legacy
  if (chosen === undefined) throw new RemoteFault('remote_no_interface')
  return chosen
}

function readInterface(input: unknown): readonly RemoteInterface[] {
  if (!isPlainObject(input)) return []
  const { url, protocolBinding, protocolVersion, tenant } = input
  const binding = readProtocolBinding(protocolBinding)
  const dialect = readDialect(protocolVersion)
  if (typeof url !== 'string' || !URL.canParse(url) || binding === undefined || dialect === undefined) return []
  const routed = typeof tenant === 'string' && tenant !== '' ? { tenant: tenant.slice(0, 256) } : {}
  return [{ url, binding, dialect, ...routed }]
}

/** A card of 0.3 names its first interface apart from the others. */
function legacyInterfaces(card: Fields): readonly RemoteInterface[] {
  const first = { url: card['url'], transport: card['preferredTransport'] ?? 'JSONRPC' }
  return [first, ...boundedInterfaces(card['additionalInterfaces'])].flatMap((each) => {
    const { url, transport } = asFields(each)
    return readInterface({ url, protocolBinding: transport, protocolVersion: card['protocolVersion'] ?? '0.3' })
  })
}

function boundedInterfaces(input: unknown): readonly unknown[] {
  return Array.isArray(input) ? input.slice(0, maxInterfaces) : []
}

function readProtocolBinding(name: unknown): Binding | undefined {
  return name === 'JSONRPC' || name === 'HTTP+JSON' ? name : undefined
}

/** Patches of a version speak alike. */
function readDialect(version: unknown): RemoteInterface['dialect'] | undefined {
  const [major, minor] = String(version).split('.')
  if (major === '1') return '1.0'
  return major === '0' && minor === '3' ? '0.3' : undefined
}
