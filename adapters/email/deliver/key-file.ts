// Keys for signing: from the settings, or from the file that `parley email setup` wrote.
import { GatewayError, secret } from '../../../src/contract/index.ts'
import { nodeFiles } from './node-parts.ts'
import type { DeliverySettings, DkimKey } from './settings.ts'

export type DkimKeyFile = { readonly domain: string; readonly keys: readonly DkimKey[] }

/** Throws where the file is not what it should be: without its signature a mail would be taken for a forged one. */
export async function loadDkimKeys({
  domain,
  dkimKeys: given = [],
  dkimKeyFile: file,
}: DeliverySettings): Promise<readonly DkimKey[]> {
  if (given.length > 0 || file === undefined) return given
  const { readFile } = await nodeFiles()
  const found = parseDkimKeyFile(await readFile(file, 'utf8').catch(() => ''))
  if (found?.domain === domain) return found.keys
  const what = found === undefined ? 'is no key file' : 'is for another domain'
  throw new GatewayError('config_invalid', `[email] EMAIL_DKIM_KEY ${what}; run: parley email setup ${domain}`)
}

/** Undefined: it is something else. */
export function parseDkimKeyFile(text: string): DkimKeyFile | undefined {
  try {
    const { domain, keys } = JSON.parse(text) as { domain: unknown; keys: readonly Record<string, unknown>[] }
    const read = keys.flatMap(({ selector, privateKey }) =>
      isSelector(selector) && typeof privateKey === 'string' ? [{ selector, privateKey: secret(privateKey) }] : [],
    )
    return typeof domain === 'string' && read.length > 0 && read.length === keys.length
      ? { domain, keys: read }
      : undefined
  } catch {
    return undefined
  }
}

function isSelector(text: unknown): text is string {
  return typeof text === 'string' && /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(text)
}
