// Asks the domain name system, as a server that delivers mail does. Node only.
import { importOnNode } from '../../../src/contract/index.ts'

/** Undefined: no answer. Empty: there is nothing. */
export interface ZoneLookup {
  mx(name: string): Promise<readonly string[] | undefined>
  txt(name: string): Promise<readonly string[] | undefined>
}

type Resolver = {
  setServers(servers: readonly string[]): void
  resolveMx(name: string): Promise<readonly { readonly exchange: string; readonly priority: number }[]>
  resolveTxt(name: string): Promise<readonly (readonly string[])[]>
}

/** `server`: an address with or without a port; without it whatever this machine asks. */
export async function createZoneLookup(server: string | undefined): Promise<ZoneLookup> {
  const { Resolver } = await importOnNode<{
    Resolver: new (options: { readonly timeout: number; readonly tries: number }) => Resolver
  }>('node:dns/promises')
  const resolver = new Resolver({ timeout: 3000, tries: 2 })
  if (server !== undefined) resolver.setServers([server])
  return {
    mx: (domain) =>
      recordsOrNone(async () => {
        const found = await resolver.resolveMx(domain)
        return found.toSorted((one, other) => one.priority - other.priority).map(({ exchange }) => exchange)
      }),
    txt: (domain) => recordsOrNone(async () => (await resolver.resolveTxt(domain)).map((strings) => strings.join(''))),
  }
}

async function recordsOrNone(ask: () => Promise<readonly string[]>): Promise<readonly string[] | undefined> {
  try {
    return await ask()
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
    return code === 'ENODATA' || code === 'ENOTFOUND' ? [] : undefined
  }
}
