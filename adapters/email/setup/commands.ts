// `parley email …`: keys and records for a domain, whether DNS has them, and a test mail.

import {
  type ChannelCommand,
  type ChannelCommands,
  type CommandContext,
  type CommandFlags,
  type CommandResult,
  createChannelSay,
  type DeliveryResult,
} from '../../../src/contract/index.ts'
import { createWebHmac, GatewayError } from '../../../src/lib/index.ts'
import { deliverySettings } from '../config/derive-settings.ts'
import { emailSettingsSchema } from '../config/settings.ts'
import { deliverMail } from '../deliver/mail.ts'
import type { DeliverySettings } from '../deliver/settings.ts'
import { dkimDnsRecords, readDkimKeys, readOrMakeDkimKeys } from '../dkim/keys.ts'
import { emailSentences } from '../sentences.ts'
import { base32 } from '../threading.ts'
import { isAsciiDomainName, isAsciiMailAddress } from '../wire/address.ts'
import type { MailCall } from '../wire/call.ts'
import {
  checkDomain,
  createZoneLookup,
  type Finding,
  formatZoneLine,
  optionalRecords,
  requiredRecords,
  type ZoneLookup,
} from './check-domain.ts'

const domainArgument = {
  domain: {
    type: 'positional',
    required: true,
    description: 'The domain of the agents’ addresses, such as agents.example.org',
  },
} as const

const setupCommand: ChannelCommand = {
  name: 'setup',
  description: 'Make the signing keys of a domain, once, and print the DNS records it needs.',
  examples: ['parley email setup agents.example.org', 'parley email setup agents.example.org --host mail.example.org'],
  flags: {
    ...domainArgument,
    host: {
      type: 'string',
      description: 'Name of the machine that takes the mail (default: of PARLEY_PUBLIC_URL, else mail.<domain>)',
      valueHint: 'mail.example.org',
    },
  },
  async run(flags, context) {
    const domain = domainFlag(flags)
    const host = hostFlag(flags, context, domain)
    const path = dkimKeyPath(context, domain)
    const { file, isNew } = await readOrMakeDkimKeys(path, domain, new Date())
    const zone = { domain, host, keys: await dkimDnsRecords(file) }
    const [records, more] = [requiredRecords(zone), optionalRecords(zone)]
    const isNamed = context.environment['EMAIL_DKIM_KEY'] === path && context.environment['EMAIL_DOMAIN'] === domain
    const text = [
      `Keys        ${path} (${isNew ? 'new' : 'kept as they are'}; keep them secret)`,
      '',
      `Put these records into the zone of ${domain}:`,
      ...records.flatMap((record) => ['', `; ${record.why}`, formatZoneLine(record)]),
      '',
      'Helpful, not needed; and for MTA-STS see RFC 8461, once the MX has a certificate:',
      ...more.flatMap((record) => ['', `; ${record.why}`, formatZoneLine(record)]),
      ...(context.environment['SMTP_URL']
        ? ['', 'Mail leaves through SMTP_URL: put what its provider wants (include:…) into the SPF record before ~all.']
        : []),
      ...(isNamed
        ? []
        : [
            '',
            `Put this into the gateway’s environment and restart it: EMAIL_DOMAIN=${domain} EMAIL_DKIM_KEY=${path}`,
          ]),
      '',
      `Then: parley email check ${domain}`,
    ].join('\n')
    const value = {
      domain,
      keyFile: path,
      isNew,
      records: records.map((record) => ({ ...record, zone: formatZoneLine(record) })),
      optional: more.map((record) => ({ ...record, zone: formatZoneLine(record) })),
    }
    return { value, text }
  },
}

const checkCommand: ChannelCommand = {
  name: 'check',
  description: 'Ask the domain name system whether everything is there: MX, SPF, DKIM, DMARC.',
  examples: ['parley email check agents.example.org', 'parley email check agents.example.org --json'],
  flags: {
    ...domainArgument,
    server: { type: 'string', description: 'Name server to ask (default: this machine’s)', valueHint: '9.9.9.9' },
  },
  run: (flags, context) => runDomainCheck(flags, context, () => createZoneLookup(serverFlag(flags))),
}

export async function runDomainCheck(
  flags: CommandFlags,
  context: CommandContext,
  lookUp: () => Promise<ZoneLookup>,
): Promise<CommandResult> {
  const domain = domainFlag(flags)
  const path = dkimKeyPath(context, domain)
  const file = await readDkimKeys(path, domain)
  const keys = file === undefined ? [] : await dkimDnsRecords(file)
  const found = await checkDomain(domain, keys, await lookUp())
  const noKeys: Finding = {
    what: 'Keys',
    state: 'missing',
    found: path,
    remedy: `replies are not signed; run: parley email setup ${domain}`,
  }
  const findings = file === undefined ? [noKeys, ...found] : found
  const wrong = findings.filter(({ state }) => state !== 'ok')
  const width = Math.max(...findings.map(({ what }) => what.length))
  const lines = findings.map(({ what, state, found: seen, remedy }) =>
    `${what.padEnd(width)}  ${state.padEnd(7)}  ${[seen, remedy].filter((each) => each !== '').join('; ')}`.trimEnd(),
  )
  return {
    value: { domain, findings: findings.map((each) => ({ ...each })), isReady: wrong.length === 0 },
    text: lines.join('\n'),
    ...(wrong.length === 0 ? {} : { problem: `${domain}: ${wrong.map(({ what }) => what).join(', ')} not in order` }),
  }
}

const sendTestCommand: ChannelCommand = {
  name: 'send-test',
  description: 'Send one mail the way replies go, and say what became of it.',
  examples: ['parley email send-test --to you@example.org'],
  flags: {
    to: { type: 'string', required: true, description: 'Who gets it', valueHint: 'you@example.org' },
    connection: { type: 'string', description: 'Id of the connection', valueHint: 'id', default: 'default' },
  },
  async run(flags, context) {
    const to = textFlag(flags, 'to') ?? ''
    if (!isAsciiMailAddress(to))
      throw new GatewayError('bad_request', '--to must be an address such as you@example.org')
    const id = textFlag(flags, 'connection') ?? 'default'
    const found = await context.settings(id)
    if (found !== undefined) return sendTestMail(deliverySettings(emailSettingsSchema.parse(found.settings)), to)
    throw new GatewayError('bad_request', `there is no connection email/${id}; set EMAIL_DOMAIN, or give --connection`)
  },
}

export const emailCommands = {
  channel: 'email',
  description: 'Set up mail: keys, DNS records, and a test.',
  commands: [setupCommand, checkCommand, sendTestCommand],
} satisfies ChannelCommands

function domainFlag(flags: CommandFlags): string {
  const given = (textFlag(flags, 'domain') ?? '').toLowerCase().replace(/\.$/, '')
  const domain = URL.canParse(`http://${given}/`) ? new URL(`http://${given}/`).hostname : ''
  if (domain === '' || !isAsciiDomainName(domain) || /^[\d.]+$/.test(domain))
    throw new GatewayError('bad_request', `${JSON.stringify(given)} is no domain; give one such as agents.example.org`)
  if (/(?:^|\.)localhost$/.test(domain))
    throw new GatewayError('bad_request', `${domain} has no zone that others see; give a domain of your own`)
  return domain
}

function hostFlag(flags: CommandFlags, { environment }: CommandContext, domain: string): string {
  const given = textFlag(flags, 'host')
  if (given !== undefined && !isAsciiDomainName(given))
    throw new GatewayError('bad_request', '--host must be the name of a machine, such as mail.example.org')
  const url = environment['PARLEY_PUBLIC_URL'] ?? ''
  const known = URL.canParse(url) ? new URL(url).hostname : ''
  return given ?? (isAsciiDomainName(known) && !/^[\d.]+$/.test(known) ? known : `mail.${domain}`)
}

function serverFlag(flags: CommandFlags): string | undefined {
  const server = textFlag(flags, 'server')
  if (server === undefined || /^[0-9a-f.:[\]]{2,60}$/i.test(server)) return server
  throw new GatewayError('bad_request', '--server must be an address, such as 9.9.9.9 or [2620:fe::fe]:53')
}

/** Where the keys of a domain are: where the gateway looks for them, else beside everything else it keeps. */
function dkimKeyPath({ environment }: CommandContext, domain: string): string {
  const named = environment['EMAIL_DKIM_KEY'] ?? ''
  if (named.includes('-----BEGIN'))
    throw new GatewayError('bad_request', 'EMAIL_DKIM_KEY holds a key itself; set it to the path of a key file')
  if (named !== '') return named
  return `${environment['PARLEY_DATA_DIR']?.trim() || '.parley'}/email-dkim-${domain}.json`
}

function textFlag(flags: CommandFlags, name: string): string | undefined {
  const value = flags[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

// A test mail goes the way replies go: composed, signed and sent as any other, with its outcome at once.

async function sendTestMail(given: DeliverySettings, to: string): Promise<CommandResult> {
  const settings = { ...given, isPooled: false }
  const randomKey = (): string => base32(crypto.getRandomValues(new Uint8Array(10)))
  const key = randomKey()
  const deliver = deliverMail(settings, {
    connection: { tenant: 'default', id: 'default', agent: 'test', domain: settings.domain },
    hmac: createWebHmac(),
    now: Date.now,
    say: createChannelSay(emailSentences),
    // Nothing is kept of it: an answer begins a conversation of its own.
    secret: async () => key,
    tokens: async () => ({ mint: async (name) => `${name}${key}` }),
  })
  const outcome = await deliver(testMailCall(settings, to, randomKey()), {
    outboxId: key,
    runId: undefined,
    number: 1,
    clientId: `send-test:${key}`,
    isMaybeRepeat: false,
    signal: AbortSignal.timeout(settings.callTimeoutMs),
  })
  const way = describeMailer(settings)
  const value = { to, way, outcome: { ...outcome } }
  const isSent = outcome.kind === 'delivered'
  const lines = [
    `To          ${to}`,
    `Through     ${way}`,
    `Signed      ${isDkimConfigured(settings) ? 'with DKIM' : 'not at all; run: parley email setup <domain>'}`,
    `Came of it  ${describeOutcome(outcome)}`,
  ]
  return {
    value,
    text: lines.join('\n'),
    ...(isSent ? {} : { problem: `the mail was not sent: ${describeOutcome(outcome)}` }),
  }
}

function testMailCall({ domain, mailbox }: DeliverySettings, to: string, thread: string): MailCall {
  const words = `This mail was sent by parley email send-test, from ${mailbox ?? domain}. If you can read it, replies can reach you.`
  return {
    op: 'send',
    from: { name: 'Parley', address: mailbox ?? `postmaster@${domain}` },
    to: [{ name: '', address: to }],
    cc: [],
    subject: `Test mail from ${mailbox ?? domain}`,
    text: words,
    html: `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"></head><body><p>${words}</p></body></html>\n`,
    quote: null,
    in_reply_to: null,
    references: [],
    thread,
    files: [],
    decisions: [],
    decided: null,
    hop: 1,
  }
}

function describeMailer({ smtpUrl, mailFolder }: DeliverySettings): string {
  if (smtpUrl !== undefined) return `the server ${new URL(smtpUrl.reveal()).host}`
  return mailFolder === undefined ? 'nothing; set SMTP_URL' : `a file in ${mailFolder}, because SMTP_URL is not set`
}

function isDkimConfigured({ dkimKeys = [], dkimKeyFile }: DeliverySettings): boolean {
  return dkimKeys.length > 0 || dkimKeyFile !== undefined
}

function describeOutcome(outcome: DeliveryResult): string {
  switch (outcome.kind) {
    case 'delivered':
      return `taken, as ${outcome.vendorId ?? 'a mail without an id'}`
    case 'refused':
      return `refused for good: ${outcome.reason}`
    case 'retry':
      return `not now: ${outcome.reason}`
    case 'unknown':
      return `not known: ${outcome.reason}`
    default:
      return outcome satisfies never
  }
}
