// Which token goes to which gateway: the one of this data folder stays with its own gateway, another address needs its own.
import { readFile } from 'node:fs/promises'
import { type Secret, secret } from '../contract/index.ts'
import { storedAdminToken } from '../node/admin-token.ts'
import { CommandError, exitCodes, wrongUsage } from './exit.ts'

export type TokenSources = { readonly token: string | undefined; readonly tokenFile: string | undefined }

const loopbackHost = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/

/** A token that was named for this one call: a flag, a file, or PARLEY_TOKEN. */
export async function tokenFromFlags({ token, tokenFile }: TokenSources): Promise<Secret | undefined> {
  if (token !== undefined && tokenFile !== undefined) throw wrongUsage('give either --token or --token-file, not both')
  if (tokenFile !== undefined) return readTokenFile(tokenFile)
  return secretUnlessBlank(token ?? process.env['PARLEY_TOKEN'])
}

/** The first token of the gateway that this environment and data folder belong to. */
export async function localAdminToken(dataDir: string): Promise<Secret | undefined> {
  return secretUnlessBlank(process.env['PARLEY_ADMIN_TOKEN']) ?? storedAdminToken(dataDir)
}

/**
 * The own token leaves the socket only for the gateway's own public address, where TLS proves who answers. A port of this
 * machine proves nothing: any of its users may listen there while the gateway does not.
 */
export async function localAdminTokenFor(url: URL, dataDir: string): Promise<Secret> {
  const own = process.env['PARLEY_PUBLIC_URL']?.trim() ?? ''
  const isOwn = url.protocol === 'https:' && URL.canParse(own) && isSameAddress(new URL(own), url)
  const token = isOwn ? await localAdminToken(dataDir) : undefined
  if (token !== undefined) return token
  throw new CommandError(
    exitCodes.usage,
    'token_missing',
    `no token was given for ${url.origin}; name one of that gateway with --token-file or PARLEY_TOKEN, or leave --url out to ask the gateway on this data folder`,
  )
}

export function parseGatewayUrl(text: string, allowHttp: boolean): URL {
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || url.search !== '' || url.hash !== '')
    throw wrongUsage('--url must be an address such as http://127.0.0.1:8787')
  if (url.username !== '' || url.password !== '')
    throw wrongUsage('--url must not hold a name or password; use --token-file or PARLEY_TOKEN')
  if (url.protocol === 'http:' && !loopbackHost.test(url.hostname) && !allowHttp)
    throw wrongUsage(
      `${url.origin} is not encrypted: the token and every answer could be read on the way; use https, or add --allow-http on a network you trust`,
    )
  return url
}

function isSameAddress(one: URL, other: URL): boolean {
  const pathWithoutSlash = ({ pathname }: URL): string => pathname.replace(/\/+$/, '')
  return one.origin === other.origin && pathWithoutSlash(one) === pathWithoutSlash(other)
}

async function readTokenFile(file: string): Promise<Secret> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw wrongUsage(`--token-file ${file} cannot be read (${error.code ?? 'unknown'}); correct the path`)
  })
  const token = secretUnlessBlank(text)
  if (token === undefined || /\s/.test(text.trim())) throw wrongUsage(`--token-file ${file} must hold one token alone`)
  return token
}

function secretUnlessBlank(text: string | undefined): Secret | undefined {
  const trimmed = text?.trim() ?? ''
  return trimmed === '' ? undefined : secret(trimmed)
}
