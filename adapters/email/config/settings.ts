// Settings of a mail domain, as an operator writes them.
import * as z from 'zod'
import { type ChannelDeps, limitsSchema, secretListSchema, secretSchema } from '../../../src/contract/index.ts'
import { GatewayError } from '../../../src/lib/index.ts'
import { smtpLimits } from '../smtp/settings.ts'

/** The domain of a gateway without mail settings. No mail from elsewhere ever gets to a name below .localhost (RFC 6761). */
export const developmentDomain = 'parley.localhost'

const domain = z
  .string()
  .transform((name) => name.trim().toLowerCase())
  .refine(
    (name) => /^(?=.{4,253}$)(?:(?!-)[a-z0-9-]{1,63}(?<!-)\.)+(?!-)[a-z0-9-]{2,63}(?<!-)$/.test(name),
    'must be a domain in its ASCII form, such as agents.example.org; correct EMAIL_DOMAIN',
  )
const mailUrlSchema = (schemes: string, problem: string) => secretSchema(new RegExp(`^(?:${schemes})://\\S+$`), problem)
const webhookSecret = secretSchema(
  /^[\x21-\x7e]{32,256}$/,
  'must be 32 to 256 visible characters; set EMAIL_WEBHOOK_SECRET (openssl rand -hex 32)',
)
const pem = secretSchema(
  /^-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]+-----END [A-Z ]*PRIVATE KEY-----\s*$/,
  'must be a private key in PEM; correct EMAIL_DKIM_KEY',
)

const selector = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/i, 'must be a DNS label; correct EMAIL_DKIM_SELECTOR')

const nameServer = z.string().refine((text) => {
  const [, bracketed, plain] = /^(?:\[(.+)\]|([\d.]+))(?::\d{1,5})?$/.exec(text) ?? []
  return bracketed === undefined ? z.ipv4().safeParse(plain).success : z.ipv6().safeParse(bracketed).success
}, 'must be an address such as 192.0.2.53:53')

const listenerSchema = z.strictObject({
  host: z.string().min(1).default('127.0.0.1'),
  port: z.int('must be a port; correct EMAIL_SMTP_PORT').min(0).max(65_535).default(2525),
  /** The name it greets with; the domain unless told. */
  name: domain.optional(),
  tls: z.strictObject({ key: pem, cert: z.string().includes('BEGIN CERTIFICATE') }).optional(),
  /** Of one address. Behind a relay of one's own all mail comes from the same. */
  limits: z
    .strictObject({
      clientsPerAddress: z.int().min(1).max(200).default(smtpLimits.clientsPerAddress),
      mailsPerMinute: z.int().min(1).default(smtpLimits.mailsPerMinute),
      heldBytesPerAddress: z.int().min(1).default(smtpLimits.heldBytesPerAddress),
      unprovenBytesPerHour: z.int().min(0).default(smtpLimits.unprovenBytesPerHour),
    })
    .optional(),
})

const settingsSchema = z.strictObject({
  domain: domain.default(developmentDomain),
  /** Other domains whose mail is ours. */
  domains: z.array(domain).max(50).default([]),
  /** Other names of agents: a local part or a whole address, to a slug. */
  addresses: z.record(z.string().toLowerCase(), z.string().min(1)).default({}),
  /** Domains that let none of their users write under another's address: their mails prove the mailbox, not only the domain. */
  addressDomains: z.array(domain).max(200).default([]),
  /** Domains of relays whose ARC seals are believed. */
  trustedSealers: z.array(domain).max(50).default([]),
  /** Addresses of ours that may get mails which do not name them: behind an alias elsewhere, or in Bcc. */
  unnamedRecipients: z.array(z.string().toLowerCase()).max(200).default([]),
  /** Where mail is taken by SMTP; false: nowhere. */
  smtp: z.union([z.literal(false), listenerSchema]).default(false),
  /** A mailbox that is read. Everything in it is for the agent of the connection, unless an address of ours says otherwise. */
  imap: z
    .strictObject({
      url: mailUrlSchema('imaps?', 'must be imaps://user:password@host/INBOX; correct EMAIL_IMAP_URL'),
      /** Whose mailbox it is; the user's name unless told. */
      address: z.email().optional(),
      mark: z
        .union([z.strictObject({ flag: z.string().min(1) }), z.strictObject({ moveTo: z.string().min(1) })])
        .optional(),
      /** What is there already is left alone unless it is `all`. */
      startAt: z.enum(['now', 'all']).default('now'),
      /** For a server on this machine without TLS. */
      allowPlain: z.boolean().default(false),
      ca: z.string().optional(),
    })
    .optional(),
  webhookSecret: secretListSchema(webhookSecret, 2, 'must hold at most two secrets'),
  ses: z
    .strictObject({
      topicArns: z.array(z.string().startsWith('arn:')).min(1),
      s3: z
        .strictObject({
          region: z.string().min(1),
          accessKeyId: z.string().min(1),
          secretAccessKey: secretSchema(/^\S+$/, 'must be the secret key of the account that may read the bucket'),
          buckets: z.array(z.string().min(1)).min(1),
          endpoint: z.url().optional(),
        })
        .optional(),
    })
    .optional(),
  mailgun: z
    .strictObject({
      signingKeys: secretListSchema(
        secretSchema(/^\S{16,256}$/, 'must be the signing key of Mailgun'),
        2,
        'must hold at most two secrets',
      ),
    })
    .optional(),
  /** The relay that mail is handed to for sending. */
  smtpUrl: mailUrlSchema(
    'smtps?',
    'must be smtps://user:password@host or smtp://host:port; correct SMTP_URL',
  ).optional(),
  /** Without a server: the folder that mails are written into. */
  mailFolder: z.string().min(1).optional(),
  /** Largest mail that goes out with its files in it; others are linked. */
  maxMailBytes: z
    .int()
    .min(64 * 1024)
    .max(50 * 1024 * 1024)
    .default(10 * 1024 * 1024),
  dkimKeys: z
    .array(z.strictObject({ selector, privateKey: pem }))
    .max(4)
    .default([]),
  /** A file with a key, as `parley email setup` writes it. */
  dkimKeyFile: z.string().min(1).optional(),
  /** A client that hands mail in on this machine is believed to be the sender it names. For trying things out, on a domain of this machine alone. */
  trustLoopback: z.boolean().default(false),
  /** Domains of other gateways whose agents may write to ours, under a count that ends; the secret is the same in all of them. */
  siblings: z.array(domain).max(50).default([]),
  siblingSecret: secretSchema(
    /^[\x21-\x7e]{32,256}$/,
    'must be 32 to 256 visible characters, the same in every gateway',
  ).optional(),
  /** Of one raw mail. */
  maxBytes: z
    .int()
    .min(64 * 1024)
    .max(25 * 1024 * 1024)
    .default(25 * 1024 * 1024),
  /** Name servers that are asked, `address` or `address:port`; those of this machine unless told. */
  dnsServers: z.array(nameServer).min(1).max(8).optional(),
  /** A DNS-over-HTTPS resolver, for runtimes without a resolver of their own. */
  dnsOverHttps: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
  /** How long one send may take; `turns.leaseMs` is at least three times as long. */
  callTimeoutMs: z.int().min(500).max(60_000).default(9000),
  limits: limitsSchema.default({ connection: { count: 10, perMs: 1000 } }),
})

export const emailSettingsSchema = settingsSchema
  .refine(({ siblings, siblingSecret }) => siblings.length === 0 || siblingSecret !== undefined, {
    path: ['siblingSecret'],
    error: 'must be set where there are siblings',
  })
  .refine(
    ({ trustLoopback, domain: own, domains }) => !trustLoopback || (isLocalhostName(own) && domains.length === 0),
    {
      path: ['trustLoopback'],
      error: `is for ${developmentDomain} only: on a public domain any user of this machine could write as any sender`,
    },
  )
  .refine(({ smtp, trustLoopback }) => !trustLoopback || smtp === false || isLoopbackHost(smtp.host), {
    path: ['smtp', 'host'],
    error: 'must be 127.0.0.1 or ::1 where trustLoopback is on',
  })

/** Checked settings of one domain. */
export type EmailSettings = z.output<typeof emailSettingsSchema>
function isLocalhostName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost')
}

export function isLoopbackHost(host: string): boolean {
  return host === '::1' || host === 'localhost' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

// On a runtime without a machine of its own the settings need that runtime's mailer, and nothing that only Node can do.

/** Settings that only a machine of its own can follow: an operator who sets one expects something that will not happen there. */
const nodeOnlySettings = [
  ['smtpUrl', 'SMTP_URL', 'there is no SMTP'],
  ['mailFolder', 'mailFolder', 'there is no disk'],
  ['dkimKeys', 'EMAIL_DKIM_KEY', 'Cloudflare signs what it sends'],
  ['dkimKeyFile', 'EMAIL_DKIM_KEY', 'Cloudflare signs what it sends'],
] as const satisfies readonly (readonly [keyof EmailSettings, string, string])[]

const noMailerProblem = 'no mail can be sent: add [[send_email]] with name = "SEND_EMAIL" to wrangler.toml'

/** The settings as they are, or every problem at once. */
export function requireHostedSettings(settings: EmailSettings, { mailer }: Pick<ChannelDeps, 'mailer'>): EmailSettings {
  const problems = [
    ...(mailer === undefined ? [noMailerProblem] : []),
    ...nodeOnlySettings.flatMap(([key, name, why]) =>
      isSettingGiven(settings[key]) ? [`${name} is for Node: ${why}; remove it`] : [],
    ),
  ]
  if (problems.length === 0) return settings
  throw new GatewayError('config_invalid', `[email] ${problems.join('; ')}`)
}

function isSettingGiven(value: EmailSettings[(typeof nodeOnlySettings)[number][0]]): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined
}

/** What a mailbox is reached by. */
export type MailboxUrl = {
  readonly host: string
  readonly port: number
  readonly secure: boolean
  readonly user: string
  readonly password: string
  readonly mailbox: string
}

/** `imaps://user:password@host:port/INBOX`. */
export function parseMailboxUrl(url: string): MailboxUrl {
  const { protocol, hostname, port, username, password, pathname } = new URL(url)
  const secure = protocol === 'imaps:'
  return {
    host: hostname,
    port: port === '' ? (secure ? 993 : 143) : Number(port),
    secure,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    mailbox: decodeURIComponent(pathname.slice(1)) || 'INBOX',
  }
}
