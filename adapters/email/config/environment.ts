// Reads the mail settings from the environment.
import type * as z from 'zod'
import { type AccessRule, type EnvironmentReading, parseAddress } from '../../../src/contract/index.ts'
import { secret, splitCommaList } from '../../../src/lib/index.ts'
import { mailtoSubjectOfAddress } from '../wire/address.ts'
import { developmentDomain, type emailSettingsSchema, parseMailboxUrl } from './settings.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Variables any of which says that the operator set mail up. */
const setupVariables = [
  'EMAIL_DOMAIN',
  'EMAIL_IMAP_URL',
  'SMTP_URL',
  'EMAIL_DKIM_KEY',
  'EMAIL_WEBHOOK_SECRET',
  'EMAIL_ALLOW',
]

/**
 * Where nothing is set up, a listener on this machine takes mail for the development domain: it needs no account, and a client that can
 * reach it is on this machine already. `EMAIL_CHANNEL=off` closes it.
 */
export function emailFromEnvironment(env: Environment): EnvironmentReading | undefined {
  return (
    settingsFromVariables(env, mailFolderPath(env)) ??
    (env['EMAIL_CHANNEL'] === 'off' ? undefined : developmentSettings(env))
  )
}

/** The same for runtimes without a machine of their own: a mail in a folder there could not be read. */
export function hostedEmailFromEnvironment(env: Environment): EnvironmentReading | undefined {
  return settingsFromVariables(env, undefined)
}

function settingsFromVariables(env: Environment, mailFolder: string | undefined): EnvironmentReading | undefined {
  const isOff = env['EMAIL_CHANNEL'] === 'off'
  const port = env['EMAIL_SMTP_PORT'] || undefined
  const values = readEmailVariables(env)
  if (isOff || setupVariables.every((name) => !env[name])) return undefined
  // A mailbox at a provider needs no domain: its address is the agent's, and the name only stands in addresses inside.
  const domain = values.domain ?? (isMailboxAtProvider(values.imap) ? developmentDomain : publicMailHost(env))
  if (domain === undefined) return { missing: ['EMAIL_DOMAIN'] }
  const access = emailAccessRule(env['EMAIL_ALLOW'])
  return {
    settings: {
      domain,
      ...(port === undefined ? {} : { smtp: { host: values.host ?? '127.0.0.1', port: Number(port) } }),
      ...(values.imap === undefined ? {} : { imap: { url: secret(values.imap) } }),
      webhookSecret: (values.hook ?? '').split(',').flatMap((text) => (text.trim() === '' ? [] : secret(text.trim()))),
      ...(values.smtp === undefined ? {} : { smtpUrl: secret(values.smtp) }),
      ...(values.smtp === undefined && mailFolder !== undefined ? { mailFolder } : {}),
      ...(values.key === undefined ? {} : dkimKeySettings(values.key, values.selector)),
    },
    ...(access === undefined ? {} : { access }),
  }
}

/** The agents' addresses are there, unless they are told another domain. */
function publicMailHost(env: Environment): string | undefined {
  const url = env['PARLEY_PUBLIC_URL'] ?? ''
  const host = URL.canParse(url) ? new URL(url).hostname : ''
  return parseAddress(`agent@${host}`) === undefined ? undefined : host
}

function isMailboxAtProvider(url: string | undefined): boolean {
  return url !== undefined && URL.canParse(url) && parseMailboxUrl(url).user.includes('@')
}

function readEmailVariables(env: Environment) {
  return {
    domain: env['EMAIL_DOMAIN'] || undefined,
    host: env['EMAIL_SMTP_HOST'] || undefined,
    imap: env['EMAIL_IMAP_URL'] || undefined,
    smtp: env['SMTP_URL'] || undefined,
    key: env['EMAIL_DKIM_KEY'] || undefined,
    selector: env['EMAIL_DKIM_SELECTOR'] || undefined,
    hook: env['EMAIL_WEBHOOK_SECRET'] || undefined,
  }
}

function developmentSettings(env: Environment): EnvironmentReading {
  const port = env['EMAIL_SMTP_PORT'] || '2525'
  return {
    settings: {
      domain: developmentDomain,
      smtp: { host: '127.0.0.1', port: Number(port) },
      // Behind a public address a connection from this machine may be that of a stranger, passed on by a proxy.
      trustLoopback: !env['PARLEY_PUBLIC_URL'],
      mailFolder: mailFolderPath(env),
    },
    // As the run API: every program of this machine may write. Behind a public address mail comes from other machines: strangers get a code.
    ...(env['PARLEY_PUBLIC_URL'] ? {} : { access: { mode: 'public', allow: [] } }),
  }
}

/** Beside everything else that this gateway keeps. */
function mailFolderPath(env: Environment): string {
  return `${env['PARLEY_DATA_DIR'] || '.parley'}/mail`
}

/** The key itself, whose line ends may be written as `\n`, or the file that holds it. */
function dkimKeySettings(
  key: string,
  name: string | undefined,
): Pick<z.input<typeof emailSettingsSchema>, 'dkimKeys' | 'dkimKeyFile'> {
  if (!key.includes('-----BEGIN')) return { dkimKeyFile: key }
  return { dkimKeys: [{ selector: name ?? 'parley', privateKey: secret(key.replaceAll('\\n', '\n')) }] }
}

function emailAccessRule(list: string | undefined): AccessRule | undefined {
  const entries = splitCommaList(list)
  if (entries.length === 0) return undefined
  if (entries.includes('*')) return { mode: 'public', allow: [] }
  return { mode: 'allow_list', allow: entries.map(mailtoSubjectOfAddress) }
}
