// The email channel: what it can do, and its verbs bound to one domain's settings.
import {
  type Adapter,
  type Capabilities,
  type ChannelDefinition,
  type ChannelDeps,
  type ConnectionConfig,
  type ConnectionOptions,
  connectionConfig,
  defineAdapter,
  defineChannel,
  type Ingress,
  parseSettings,
  type SpeakingDeps,
} from '../../src/contract/index.ts'
import { createDecisionLinkHandler, decisionEndpoints } from './approval-links/serve.ts'
import { authenticateMail, selfTestSignatureChecks } from './auth/authenticate.ts'
import {
  addPublicHostAsDomain,
  authSettings,
  deliverySettings,
  emailStartNotice,
  ingressSettings,
  isLocalMailOnly,
  mailboxAlias,
} from './config/derive-settings.ts'
import { emailFromEnvironment, hostedEmailFromEnvironment } from './config/environment.ts'
import { type EmailSettings, emailSettingsSchema, requireHostedSettings } from './config/settings.ts'
import { deliverMail } from './deliver/mail.ts'
import { findDeliveryByKey } from './deliver/message-ids.ts'
import { createDohLookup, createNodeLookup, createResolver } from './dns.ts'
import { scanHead } from './headers/scan-head.ts'
import { createImapPoller } from './imap.ts'
import { createEmailEventHandler } from './ingress/email-event.ts'
import { createReceivedMailRegistry } from './ingress/received.ts'
import { verifyHopHeader } from './loop-prevention.ts'
import { createMailFileOpener } from './mime/files.ts'
import { parseMailBody } from './mime/parse-body.ts'
import { type Addresses, resolveRecipient } from './normalize/addressing.ts'
import { horizonMs, maxRawBytes, normalizeMail } from './normalize/mail.ts'
import { createMainOrThreadRunner } from './offload/load-shedding.ts'
import { createOffloadedMailChecks, createOffloadedPartFinder, offloadReadBody } from './offload/offload.ts'
import { emailReasons } from './reasons.ts'
import { renderMailReply } from './render/reply.ts'
import { emailSentences } from './sentences.ts'
import { createEmailProbe } from './setup/probe.ts'
import { createSmtpListener } from './smtp/listen.ts'
import { createMailSecrets, createReplyTokens } from './threading.ts'
import { verifyMail } from './verify.ts'
import { createRequestVerifier, screenRequestHeaders } from './webhooks/verify-request.ts'
import type { MailCall } from './wire/call.ts'
import type { MailHead, ReceivedMail } from './wire/mail.ts'
import type { VerifiedMail } from './wire/verified-mail.ts'

const hourMs = 60 * 60 * 1000

/** Rate limits that stop two machines that answer each other, whatever else they get wrong. */
const replyLimits: NonNullable<Capabilities['replyLimits']> = [
  { per: 'thread', count: 10, perMs: hourMs },
  { per: 'thread', count: 30, perMs: 24 * hourMs },
  { per: 'sender', count: 20, perMs: hourMs },
  { per: 'domain', count: 200, perMs: hourMs },
  { per: 'words', count: 5, perMs: hourMs },
]

export const emailChannel = /* @__PURE__ */ emailDefinition(emailFromEnvironment, (settings) => settings)

/** For runtimes without a machine of their own: nothing is on unless the operator set it up. */
export const hostedEmailChannel = /* @__PURE__ */ emailDefinition(hostedEmailFromEnvironment, requireHostedSettings)

function emailDefinition(
  fromEnvironment: ChannelDefinition['fromEnvironment'],
  check: (settings: EmailSettings, deps: ChannelDeps) => EmailSettings,
): ChannelDefinition {
  return defineChannel({
    channel: 'email',
    sentences: emailSentences,
    reasons: emailReasons,
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
    fromEnvironment,
    create: (settings, deps) => createEmail(check(parseSettings('email', emailSettingsSchema, settings), deps), deps),
  })
}

type EmailDeps = SpeakingDeps<typeof emailSentences>

/** What an operator writes into parley.config.ts for one domain. */
export type EmailOptions = ConnectionOptions<typeof emailSettingsSchema>

export function email(options: EmailOptions = {}): ConnectionConfig {
  return connectionConfig('email', options)
}

function createEmail(given: EmailSettings, deps: EmailDeps): Adapter {
  const { hmac, now, ttlStore, rawBlobs, connection } = deps
  const settings = addPublicHostAsDomain(given, connection.domain, deps.mailer)
  const secrets = createMailSecrets(deps)
  const secret = secrets.current
  const tokens = createReplyTokens(hmac, secrets)
  const own = createReceivedMailRegistry()
  const domains = [settings.domain, ...settings.domains]
  const listOwnAddresses = (): Addresses => ({
    domains,
    agents: deps.agents?.().map(({ slug }) => slug) ?? [connection.agent],
    aliases: { ...mailboxAlias(settings, connection.agent), ...settings.addresses },
  })
  const lookup =
    settings.dnsOverHttps === undefined
      ? createNodeLookup(settings.dnsServers)
      : createDohLookup(deps.fetch, settings.dnsOverHttps)
  const resolver = createResolver({ lookup, now })
  const { offload } = deps
  const library = offload === undefined ? undefined : createOffloadedMailChecks(offload)
  const hereOr = createMainOrThreadRunner()
  const tested = runOnceUntilSuccess(() => selfTestSignatureChecks(library))
  const verifying = {
    hopOf: createRequestVerifier(ingressSettings(settings), { ...deps, own }),
    scanHead,
    async proveMail(mail: ReceivedMail, head: MailHead) {
      await tested()
      const proving = { resolver, settings: authSettings(settings) }
      if (library === undefined) return authenticateMail(mail, head, proving)
      return hereOr(
        mail.raw,
        () => authenticateMail(mail, head, proving),
        () => authenticateMail(mail, head, { ...proving, library }),
      )
    },
    readBody: async (raw: Uint8Array, head: MailHead, uncounted: readonly string[]) => {
      if (offload === undefined) return parseMailBody(raw, head, uncounted)
      return hereOr(
        raw,
        () => parseMailBody(raw, head, uncounted),
        () => offloadReadBody(offload, raw, head, uncounted),
      )
    },
    nameOriginal: async (digest: string) => rawBlobs?.nameOf(digest),
    addresses: listOwnAddresses,
    tokens,
    sentUnder: async (key: string) => (ttlStore === undefined ? undefined : findDeliveryByKey(ttlStore, key)),
    async readHop(domain: string, value: string, messageId: string) {
      if (![...domains, ...settings.siblings].includes(domain)) return undefined
      const shared = settings.siblingSecret?.reveal()
      for (const each of shared === undefined ? await secrets.all() : [shared]) {
        const hop = await verifyHopHeader(hmac, each, value, messageId)
        if (hop !== undefined) return hop
      }
      return undefined
    },
    mailboxAgent: connection.agent,
    trustLoopback: settings.trustLoopback,
    maxRowBytes: maxRawBytes,
  }
  const { smtp, imap } = ingressSettings(settings)
  const incoming = {
    now,
    own,
    maxBytes: settings.maxBytes,
    recipientOf: (address: string) => classifyRecipient(listOwnAddresses(), address),
  }
  const deciding =
    ttlStore === undefined || deps.publicUrl === undefined ? undefined : { connection, now, ttlStore, say: deps.say }
  return defineAdapter<VerifiedMail, MailCall>({
    channel: 'email',
    capabilities: emailCapabilities(settings, deps),
    ...emailStartNotice(settings, { ...deps, host: connection.domain }),
    ...(deciding === undefined
      ? {}
      : { endpoints: decisionEndpoints(deciding), serve: createDecisionLinkHandler(deciding) }),
    screenHeaders: (head) => screenRequestHeaders(ingressSettings(settings), head),
    verify: (rawRequest) => verifyMail(verifying, rawRequest),
    normalize: (mail, rawRequest, at) =>
      normalizeMail({ addresses: listOwnAddresses(), addressDomains: settings.addressDomains }, mail, rawRequest, at),
    render: (reply, to, mayNotify) =>
      renderMailReply(
        deps.say,
        reply,
        to,
        mayNotify,
        (agent) => deps.agents?.().find(({ slug }) => slug === agent)?.label,
      ),
    deliver: deliverMail(deliverySettings(settings, deps.mailer), { ...deps, tokens: async () => tokens, secret }),
    openFile: createMailFileOpener(rawBlobs, offload === undefined ? undefined : createOffloadedPartFinder(offload)),
    ingress: {
      listen: smtp === undefined ? undefined : listenAfterSelfTest(tested, createSmtpListener(smtp, incoming)),
      poll: imap === undefined ? undefined : createImapPoller(imap, incoming),
      onEmailEvent: createEmailEventHandler({ ...incoming, requireSecret: secret }),
    },
    probe: createEmailProbe(settings, deps.mailer),
    isLocalOnly: isLocalMailOnly(settings),
  })
}

function emailCapabilities(settings: EmailSettings, { mailer }: Pick<ChannelDeps, 'mailer'>): Capabilities {
  return {
    // One reply is one mail.
    maxTextLength: Number.MAX_SAFE_INTEGER,
    // Every try carries the same Message-ID, by which a recipient who gets it twice recognises it; unless the provider gives the ids.
    idempotentSend: mailer === undefined ? 'client-id' : 'none',
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
  }
}

/** What cannot tell a true signature from a broken one takes no mail: the port stays closed, and says why. */
function listenAfterSelfTest(
  tested: () => Promise<void>,
  listen: NonNullable<Ingress['listen']>,
): NonNullable<Ingress['listen']> {
  return async (context, signal) => {
    await tested()
    return listen(context, signal)
  }
}

/** What has failed is tried again by the next caller. */
function runOnceUntilSuccess(work: () => Promise<void>): () => Promise<void> {
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
function classifyRecipient(addresses: Addresses, address: string): 'agent' | 'bounce' | 'unknown' | 'foreign' {
  const { kind } = resolveRecipient(addresses, address)
  if (kind !== 'unknown') return kind
  return addresses.domains.includes(address.slice(address.lastIndexOf('@') + 1).toLowerCase()) ? 'unknown' : 'foreign'
}
