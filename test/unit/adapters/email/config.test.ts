// Settings of a mail domain, and what the environment makes of them.
import { describe, expect, test } from 'vitest'
import {
  addPublicHostAsDomain,
  deliverySettings,
  emailStartNotice,
} from '../../../../adapters/email/config/derive-settings.ts'
import { emailFromEnvironment, hostedEmailFromEnvironment } from '../../../../adapters/email/config/environment.ts'
import { emailSettingsSchema, requireHostedSettings } from '../../../../adapters/email/config/settings.ts'

const complete = {
  EMAIL_DOMAIN: 'Agents.Example.org',
  SMTP_URL: 'smtps://parley:word@mail.example.org',
  EMAIL_WEBHOOK_SECRET: 'a-webhook-secret-of-forty-characters-xyz',
}
const problems = (settings: unknown) =>
  (emailSettingsSchema.safeParse(settings).error?.issues ?? []).map(
    ({ path, message }) => `${path.join('.')} ${message}`,
  )
const read = (env: Record<string, string>) => {
  const reading = emailFromEnvironment(env)
  if (reading === undefined || 'missing' in reading) return expect.unreachable(JSON.stringify(reading))
  return { ...reading, settings: emailSettingsSchema.parse(reading.settings) }
}

describe('without anything set up', () => {
  test('mail is taken on this machine, for a domain that exists nowhere else, from whoever is here', () => {
    const { settings, access } = read({})
    expect(settings).toMatchObject({ domain: 'parley.localhost', trustLoopback: true })
    expect(settings.smtp).toMatchObject({ host: '127.0.0.1', port: 2525 })
    expect(access).toEqual({ mode: 'public', allow: [] })
    expect(read({ EMAIL_SMTP_PORT: '2600' }).settings.smtp).toMatchObject({ host: '127.0.0.1', port: 2600 })
  })

  test('nothing is taken where it is switched off, or where there is no machine', () => {
    expect(emailFromEnvironment({ EMAIL_CHANNEL: 'off' })).toBeUndefined()
    expect(emailFromEnvironment({ ...complete, EMAIL_CHANNEL: 'off' })).toBeUndefined()
    expect(hostedEmailFromEnvironment({})).toBeUndefined()
    expect(hostedEmailFromEnvironment({ EMAIL_SMTP_PORT: '25' })).toBeUndefined()
  })
})

describe('a public URL', () => {
  const env = { PARLEY_PUBLIC_URL: 'https://bots.example.org' }
  const host = 'bots.example.org'
  const at = (settings: Parameters<typeof addPublicHostAsDomain>[0]) => addPublicHostAsDomain(settings, host)
  const noticeOf = (
    settings: Parameters<typeof addPublicHostAsDomain>[0],
    publicUrl = env.PARLEY_PUBLIC_URL,
    domain = host,
  ) => emailStartNotice(settings, { host: domain, publicUrl }).notice

  test('has the agents’ mail at its host, where no domain is set up, from nobody who is merely near', () => {
    const { settings, access } = read(env)
    expect(at(settings)).toMatchObject({ domain: host, domains: ['parley.localhost'], trustLoopback: false })
    expect(access).toBeUndefined()
    expect(read({ ...env, SMTP_URL: complete.SMTP_URL }).settings.domain).toBe(host)
  })

  test('adds its host to a domain of one’s own, and leaves a mailbox at a provider what it is', () => {
    expect(at(read({ ...env, ...complete }).settings)).toMatchObject({ domain: 'agents.example.org', domains: [host] })
    const EMAIL_IMAP_URL = 'imaps://me%40bots.example.org:word@imap.provider.example/INBOX'
    const { settings } = read({ ...env, EMAIL_IMAP_URL })
    expect(at(settings)).toEqual(settings)
  })

  test('says at the start why mail would not get there, and what to set', () => {
    const open = read({
      ...env,
      EMAIL_SMTP_PORT: '25',
      EMAIL_SMTP_HOST: '0.0.0.0',
      SMTP_URL: complete.SMTP_URL,
    }).settings
    expect(noticeOf(open)).toBeUndefined()
    expect(noticeOf(read({ ...env, SMTP_URL: complete.SMTP_URL }).settings)).toBe(
      'mail to agents @bots.example.org is not taken: set EMAIL_SMTP_PORT and EMAIL_SMTP_HOST, or another way in',
    )
    expect(noticeOf(read(env).settings)).toBe(
      'mail to agents @bots.example.org is taken from this machine only: put a mail server in front, or set EMAIL_SMTP_HOST=0.0.0.0 and EMAIL_SMTP_PORT=25; answers are files in .parley/mail until SMTP_URL is set',
    )
    const numbers = read({ PARLEY_PUBLIC_URL: 'https://192.0.2.1' }).settings
    expect(noticeOf(numbers, 'https://192.0.2.1', 'parley.localhost')).toContain(
      '192.0.2.1 is no domain for mail: set EMAIL_DOMAIN',
    )
  })
})

describe('a domain of one’s own', () => {
  test('believes nobody for being near, and lets strangers in by pairing', () => {
    const { settings, access } = read(complete)
    expect(settings).toMatchObject({ domain: 'agents.example.org', trustLoopback: false, smtp: false })
    expect(settings.smtpUrl?.reveal()).toBe(complete.SMTP_URL)
    expect(access).toBeUndefined()
  })

  test('replies are written into a folder only where there is no server to hand them to', () => {
    const { SMTP_URL: _, ...silent } = complete
    expect(read(complete).settings.mailFolder).toBeUndefined()
    expect(read({ ...silent, PARLEY_DATA_DIR: '/data' }).settings.mailFolder).toBe('/data/mail')
  })

  test.each(['SMTP_URL', 'EMAIL_IMAP_URL', 'EMAIL_WEBHOOK_SECRET', 'EMAIL_ALLOW', 'EMAIL_DKIM_KEY'])(
    '%s without a domain stops the start',
    (name) => expect(emailFromEnvironment({ [name]: 'x' })).toEqual({ missing: ['EMAIL_DOMAIN'] }),
  )

  test('a mailbox at a provider needs none: we send as that mailbox', () => {
    const EMAIL_IMAP_URL = 'imaps://me%40provider.example:word@imap.provider.example/INBOX'
    const { settings } = read({ EMAIL_IMAP_URL, SMTP_URL: complete.SMTP_URL })
    expect(settings).toMatchObject({ domain: 'parley.localhost', trustLoopback: false, smtp: false })
    expect(deliverySettings(settings).mailbox).toBe('me@provider.example')
    const own = read({
      ...complete,
      EMAIL_IMAP_URL: 'imaps://desk%40agents.example.org:word@imap.example.org',
    }).settings
    expect(deliverySettings(own).mailbox).toBeUndefined()
    expect(emailFromEnvironment({ EMAIL_IMAP_URL: 'imaps://me:word@imap.provider.example' })).toEqual({
      missing: ['EMAIL_DOMAIN'],
    })
  })

  test('EMAIL_ALLOW names addresses: the local part as it is, the domain in any case', () => {
    expect(read({ ...complete, EMAIL_ALLOW: 'Ada@Example.ORG, bob@b.example' }).access).toEqual({
      mode: 'allow_list',
      allow: ['mailto:Ada@example.org', 'mailto:bob@b.example'],
    })
    expect(read({ ...complete, EMAIL_ALLOW: '*' }).access).toEqual({ mode: 'public', allow: [] })
  })

  test('a key may stand on one line, or in a file', () => {
    const EMAIL_DKIM_KEY = '-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY-----\\n'
    const [key] = read({ ...complete, EMAIL_DKIM_KEY }).settings.dkimKeys
    expect(key).toMatchObject({ selector: 'parley' })
    expect(key?.privateKey.reveal()).toContain('-----\nMII\n-----')
    const inFile = read({ ...complete, EMAIL_DKIM_KEY: '/etc/parley/dkim.json' }).settings
    expect(inFile).toMatchObject({ dkimKeyFile: '/etc/parley/dkim.json', dkimKeys: [] })
  })
})

test('name servers are addresses, with a port or without', () => {
  const dnsServers = ['192.0.2.53', '192.0.2.53:5353', '[2001:db8::53]:53']
  expect(emailSettingsSchema.parse({ dnsServers })).toMatchObject({ dnsServers })
})

test.each([
  [{ domain: 'example.org', trustLoopback: true }, 'trustLoopback is for parley.localhost only'],
  [{ trustLoopback: true, domains: ['example.org'] }, 'trustLoopback is for parley.localhost only'],
  [{ trustLoopback: true, smtp: { host: '0.0.0.0' } }, 'smtp.host must be 127.0.0.1'],
  [{ domain: 'localhost' }, 'domain must be a domain'],
  [{ domain: 'exämple.org' }, 'domain must be a domain'],
  [{ smtpUrl: 'mail.example.org' }, 'smtpUrl must be smtps://'],
  [{ imap: { url: 'pop3://x' } }, 'imap.url must be imaps://'],
  [{ webhookSecret: 'short' }, 'webhookSecret.0 must be 32 to 256'],
  [{ dkimKeys: [{ selector: 's', privateKey: 'x' }] }, 'dkimKeys.0.privateKey must be a private key'],
  [{ siblings: ['b.example'] }, 'siblingSecret must be set'],
  [{ dnsServers: ['999.1.1.1'] }, 'dnsServers.0 must be an address'],
  [{ dnsServers: ['dns.example:53'] }, 'dnsServers.0 must be an address'],
  [{ surprise: true }, 'Unrecognized key'],
])('%j is refused', (settings, problem) => {
  expect(problems(settings)).toEqual([expect.stringContaining(problem)])
})

describe('a runtime without a machine of its own', () => {
  const mailer = { maxBytes: 5 * 1024 * 1024, send: () => expect.unreachable('nothing is sent here') }
  const given = (more: object = {}) => emailSettingsSchema.parse({ domain: 'agents.example.org', ...more })

  test('writes nothing into folders, whatever its environment says', () => {
    const reading = hostedEmailFromEnvironment({ EMAIL_DOMAIN: 'agents.example.org', PARLEY_DATA_DIR: '/data' })
    expect(reading).toMatchObject({ settings: { domain: 'agents.example.org' } })
    expect(JSON.stringify(reading)).not.toContain('/data')
  })

  test('is told all at once what is missing and what only Node can follow', () => {
    expect(requireHostedSettings(given(), { mailer })).toEqual(given())
    const nodes = { smtpUrl: 'smtps://mail.example', dkimKeyFile: '/etc/key.json', mailFolder: '/mail' }
    expect(() => requireHostedSettings(given(nodes), {})).toThrow(
      /add \[\[send_email\]\] with name = "SEND_EMAIL" to wrangler.toml; SMTP_URL is .* mailFolder is .* EMAIL_DKIM_KEY is/,
    )
  })

  test('has nothing to say at the start, while who keeps answers or cannot send them does', () => {
    const host = 'parley.localhost'
    const sending = given({ smtpUrl: 'smtps://mail.example' })
    expect([emailStartNotice(given(), { host, mailer }), emailStartNotice(sending, { host })]).toEqual([{}, {}])
    expect(emailStartNotice(given({ mailFolder: '/mail' }), { host }).notice).toBe(
      'answers are files in /mail until SMTP_URL is set',
    )
    expect(emailStartNotice(given(), { host }).notice).toBe('no answer leaves until SMTP_URL is set')
  })

  test('encloses no more than its mailer takes once it is encoded, and no more than the operator says', () => {
    const base64Of = (bytes: number) => Math.ceil(bytes / 3) * 4 * (78 / 76)
    const { maxMailBytes } = deliverySettings(given(), mailer)
    expect(base64Of(maxMailBytes)).toBeLessThan(mailer.maxBytes)
    expect(base64Of(maxMailBytes)).toBeGreaterThan(mailer.maxBytes * 0.95)
    expect(deliverySettings(given({ maxMailBytes: 100_000 }), mailer).maxMailBytes).toBe(100_000)
    expect(deliverySettings(given()).maxMailBytes).toBe(10 * 1024 * 1024)
  })
})
