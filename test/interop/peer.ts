// Peers come from this folder's own package.json. Where one cannot be had, its suite is skipped by name, with the reason.
import { createRequire } from 'node:module'
import { describe } from 'vitest'

const requireHere = createRequire(import.meta.url)

/** A peer's module, or why there is none on this machine. */
export type Peer<Module> = { readonly module: Module } | { readonly problem: string }

/** `load` gets a `require` that finds the packages of this folder. */
export function loadPeer<Module>(name: string, load: (require: NodeJS.Require) => Module): Peer<Module> {
  const notInstalled = process.env['PARLEY_INTEROP_PROBLEM']
  if (notInstalled !== undefined) return { problem: notInstalled }
  try {
    return { module: load(requireHere) }
  } catch (error) {
    const text = error instanceof Error ? error.message : 'it gave no reason'
    return { problem: `${name} does not load; npm test installs it: ${text.split('\n')[0]}` }
  }
}

/** The same for packages that can only be imported; `load` gets an `import` that finds the packages of this folder. */
export async function importPeer<Module>(
  name: string,
  load: (importHere: (specifier: string) => Promise<unknown>) => Promise<Module>,
): Promise<Peer<Module>> {
  const notInstalled = process.env['PARLEY_INTEROP_PROBLEM']
  if (notInstalled !== undefined) return { problem: notInstalled }
  try {
    return { module: await load((specifier) => import(/* @vite-ignore */ specifier)) }
  } catch (error) {
    const text = error instanceof Error ? error.message : 'it gave no reason'
    return { problem: `${name} does not load; npm test installs it: ${text.split('\n')[0]}` }
  }
}

/** A suite beside the peer. Without it every test of the suite is there under its name, as skipped. */
export function describeBeside<Module>(
  name: string,
  peer: Peer<Module>,
  declareTests: (module: () => Module) => void,
): void {
  const problem = 'problem' in peer ? peer.problem : undefined
  const title = problem === undefined ? name : `${name} (${problem})`
  describe.skipIf(problem !== undefined)(title, () =>
    declareTests(() => {
      if ('problem' in peer) throw new Error(peer.problem)
      return peer.module
    }),
  )
}
