// The email channel: what it can do, and its verbs bound to one domain's settings.
import {
  type Adapter,
  type Capabilities,
  type ChannelDefinition,
  type ChannelDeps,
  type ConnectionConfig,
  type ConnectionOptions,
  checkedSettings,
  connectionConfig,
  defineAdapter,
} from '../../src/contract/index.ts'
import { emailFromEnvironment, emailWithoutDefault } from './config/environment.ts'
import { requireHosted } from './config/hosted.ts'
import {
  deliverySettings,
  isFromHereOnly,
  mailboxAlias,
  proofSettings,
  startNotice,
  waysSettings,
  withPublicHost,
} from './config/parts.ts'
import { type EmailSettings, type EmailSettingsInput, emailSettingsSchema } from './config/settings.ts'
import { decisionEndpoints, serveDecision } from './confirm/serve.ts'
import { deliverMail } from './deliver/mail.ts'
import { deliveryOf } from './deliver/names.ts'
import { dohLookup } from './dns/doh-lookup.ts'
import { nodeLookup } from './dns/node-lookup.ts'
import { createResolver } from './dns/resolver.ts'
import { openMailFile } from './files.ts'
import { createEmailProbe } from './install/probe.ts'
import { readHop } from './manners/hop.ts'
import { horizonMs, normalizeMail } from './normalize/mail.ts'
import { maxRawBytes } from './normalize/raw.ts'
import { type Addresses, recipientOf } from './normalize/recipients.ts'
import { createHereOr } from './offload/loop-share.ts'
import { offloadFindPart, offloadLibrary, offloadReadBody } from './offload/offload.ts'
import { readBody } from './parse/read-body.ts'
import { proveMail } from './prove/prove-mail.ts'
import { selfTest } from './prove/self-test.ts'
import { renderMail } from './render/reply.ts'
import { scanHead } from './scan/scan-head.ts'
import { secretOf } from './threads/secret.ts'
import { createTokens } from './threads/token.ts'
import { verifyMail } from './verify.ts'
import { takeHandedMail } from './ways/handed.ts'
import { createHopOf, screenHop } from './ways/hop-of.ts'
import { imapSource } from './ways/imap/source.ts'
import { createOwnArrivals } from './ways/own-arrivals.ts'
import { listenSmtp } from './ways/smtp/listen.ts'
import type { MailCall } from './wire/call.ts'
import type { MailHead } from './wire/judged.ts'
import type { ReceivedMail } from './wire/mail.ts'
import type { ReadMail } from './wire/read.ts'

const hourMs = 60 * 60 * 1000

/** Rate limits that stop two machines that answer each other, whatever else they get wrong. */
const replyLimits: NonNullable<Capabilities['replyLimits']> = [
  { per: 'thread', count: 10, perMs: hourMs },
  { per: 'thread', count: 30, perMs: 24 * hourMs },
  { per: 'sender', count: 20, perMs: hourMs },
  { per: 'domain', count: 200, perMs: hourMs },
  { per: 'words', count: 5, perMs: hourMs },
]

export const emailChannel: ChannelDefinition = {
  channel: 'email',
  defaultConnectionId: 'default',
  defaultAccess: { mode: 'pairing', allow: [] },
  settingsSchema: emailSettingsSchema,
  variables: [
    'EMAIL_CHANNEL',
    'EMAIL_SMTP_PORT',
    'EMAIL_DOMAIN',
    'EMAIL_SMTP_HOST',
    'EMAIL_IMAP_URL',
    'SMTP_URL',
    'EMAIL_DKIM_KEY',
    'EMAIL_DKIM_SELECTOR',
    'EMAIL_WEBHOOK_SECRET',
    'EMAIL_ALLOW',
  ],
  fromEnvironment: emailFromEnvironment,
  create: (settings, deps) => createEmail(checkedSettings('email', emailSettingsSchema, settings), deps),
}

/** For runtimes without a machine of their own: nothing is on unless the operator set it up. */
export const hostedEmailChannel: ChannelDefinition = {
  ...emailChannel,
  fromEnvironment: emailWithoutDefault,
  create: (settings, deps) =>
    createEmail(requireHosted(checkedSettings('email', emailSettingsSchema, settings), deps), deps),
}

/** What an operator writes into parley.config.ts for one domain. */
export type EmailOptions = EmailSettingsInput & ConnectionOptions

export function email(options: EmailOptions = {}): ConnectionConfig {
  return connectionConfig('email', options)
}

function createEmail(given: EmailSettings, deps: ChannelDeps): Adapter {
  const { hmac, now, notes, originals, connection } = deps
  const settings = withPublicHost(given, connection.domain, deps.carrier)
  const secrets = secretOf(deps)
  const secret = secrets.current
  const tokens = createTokens(hmac, secrets)
  const own = createOwnArrivals()
  const domains = [settings.domain, ...settings.domains]
  const addresses = (): Addresses => ({
    domains,
    agents: deps.agents?.().map(({ slug }) => slug) ?? [connection.agent],
    aliases: { ...mailboxAlias(settings, connection.agent), ...settings.addresses },
  })
  const lookup =
    settings.dnsOverHttps === undefined ? nodeLookup(settings.dnsServers) : dohLookup(deps.fetch, settings.dnsOverHttps)
  const resolver = createResolver({ lookup, now })
  const { offload } = deps
  const library = offload === undefined ? undefined : offloadLibrary(offload)
  const hereOr = createHereOr()
  const tested = onceTrue(() => selfTest(library))
  const verifying = {
    hopOf: createHopOf(waysSettings(settings), { ...deps, own }),
    scanHead,
    async proveMail(mail: ReceivedMail, head: MailHead) {
      await tested()
      const proving = { resolver, settings: proofSettings(settings) }
      if (library === undefined) return proveMail(mail, head, proving)
      return hereOr(
        mail.raw,
        () => proveMail(mail, head, proving),
        () => proveMail(mail, head, { ...proving, library }),
      )
    },
    readBody: async (raw: Uint8Array, head: MailHead, uncounted: readonly string[]) => {
      if (offload === undefined) return readBody(raw, head, uncounted)
      return hereOr(
        raw,
        () => readBody(raw, head, uncounted),
        () => offloadReadBody(offload, raw, head, uncounted),
      )
    },
    nameOriginal: async (digest: string) => originals?.nameOf(digest),
    addresses,
    tokens,
    sentUnder: async (key: string) => (notes === undefined ? undefined : deliveryOf(notes, key)),
    async readHop(domain: string, value: string, messageId: string) {
      if (![...domains, ...settings.siblings].includes(domain)) return undefined
      const shared = settings.siblingSecret?.reveal()
      for (const each of shared === undefined ? await secrets.all() : [shared]) {
        const hop = await readHop(hmac, each, value, messageId)
        if (hop !== undefined) return hop
      }
      return undefined
    },
    mailboxAgent: connection.agent,
    trustLoopback: settings.trustLoopback,
    maxRowBytes: maxRawBytes,
  }
  const { smtp, imap } = waysSettings(settings)
  const incoming = {
    ...{ now, own, maxBytes: settings.maxBytes },
    recipientOf: (address: string) => kindOf(addresses(), address),
  }
  const deciding = notes === undefined || deps.publicUrl === undefined ? undefined : { connection, now, notes }
  return defineAdapter<ReadMail, MailCall>({
    channel: 'email',
    capabilities: capabilitiesOf(settings, deps, deciding !== undefined),
    ...startNotice(settings, { ...deps, host: connection.domain }),
    ...(deciding === undefined ? {} : { endpoints: decisionEndpoints(deciding), serve: serveDecision(deciding) }),
    screenHeaders: (head) => screenHop(waysSettings(settings), head),
    verify: (arrival) => verifyMail(verifying, arrival),
    normalize: (mail, arrival, at) =>
      normalizeMail({ addresses: addresses(), addressDomains: settings.addressDomains }, mail, arrival, at),
    render: (reply, to, mayNotify) =>
      renderMail(reply, to, mayNotify, (agent) => deps.agents?.().find(({ slug }) => slug === agent)?.label),
    deliver: deliverMail(deliverySettings(settings, deps.carrier), { ...deps, tokens: async () => tokens, secret }),
    openFile: openMailFile(originals, offload === undefined ? undefined : offloadFindPart(offload)),
    ...(smtp === undefined ? {} : { listen: afterTest(tested, listenSmtp(smtp, incoming)) }),
    ...(imap === undefined ? {} : { source: imapSource(imap, incoming) }),
    probe: createEmailProbe(settings, deps.carrier),
    isLocalOnly: isFromHereOnly(settings),
    takeHanded: takeHandedMail({ ...incoming, requireSecret: secret }),
  })
}

function capabilitiesOf(
  settings: EmailSettings,
  { carrier }: Pick<ChannelDeps, 'carrier'>,
  isDecidedHere: boolean,
): Capabilities {
  return {
    // One reply is one mail.
    maxTextLength: Number.MAX_SAFE_INTEGER,
    // Every try carries the same Message-ID, by which a recipient who gets it twice recognises it; unless the provider gives the ids.
    idempotentSend: carrier === undefined ? 'client-id' : 'none',
    callTimeoutMs: settings.callTimeoutMs,
    horizonMs,
    limits: settings.limits,
    replyLimits,
    redelivers: true,
    receivedVia: 'email',
    authMethods: ['email-dmarc', 'email-dkim', 'email-loopback', 'email-link'],
    mentionRelay: { kind: 'recipient-field', fields: ['to', 'cc'] },
    isInteractive: true,
    // A mail is read and answered whenever, and a copy of it lasts.
    needsDecisionCode: true,
    isOpenToAnyone: true,
    verbs: [
      ...(['openFile', 'takeHanded', 'probe'] as const),
      ...(settings.smtp === false ? [] : (['listen'] as const)),
      ...(settings.imap === undefined ? [] : (['source'] as const)),
      ...(isDecidedHere ? (['serve'] as const) : []),
    ],
  }
}

/** What cannot tell a true signature from a broken one takes no mail: the port stays closed, and says why. */
function afterTest(
  tested: () => Promise<void>,
  listen: NonNullable<Adapter['listen']>,
): NonNullable<Adapter['listen']> {
  return async (door, signal) => {
    await tested()
    return listen(door, signal)
  }
}

/** What has failed is tried again by the next caller. */
function onceTrue(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined
      throw error
    })
    return done
  }
}

/** As the listener answers RCPT. */
function kindOf(addresses: Addresses, address: string): 'agent' | 'bounce' | 'unknown' | 'foreign' {
  const { kind } = recipientOf(addresses, address)
  if (kind !== 'unknown') return kind
  return addresses.domains.includes(address.slice(address.lastIndexOf('@') + 1).toLowerCase()) ? 'unknown' : 'foreign'
}
