// Peers come from this folder's own package.json or from Debian packages. Each proves itself with one smoke call before its tests are
// declared. A peer that cannot is skipped by name, with the reason in the title of its suite.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { describe } from 'vitest'

const requireHere = createRequire(import.meta.url)

/** A peer's module, or why there is none on this machine. */
export type Peer<Module> = { readonly module: Module } | { readonly problem: string }

/** `load` gets a `require` that finds the packages of this folder. */
export function loadPeer<Module>(name: string, load: (require: NodeJS.Require) => Module): Peer<Module> {
  const notInstalled = process.env['PARLEY_INTEROP_PROBLEM']
  if (notInstalled !== undefined) return { problem: `${name}: ${notInstalled}` }
  try {
    return { module: load(requireHere) }
  } catch (error) {
    return { problem: `${name} does not load: ${firstLine(error)}` }
  }
}

/** The same for packages that can only be imported; `load` gets an `import` that finds the packages of this folder. */
export async function importPeer<Module>(
  name: string,
  load: (importHere: (specifier: string) => Promise<unknown>) => Promise<Module>,
): Promise<Peer<Module>> {
  const notInstalled = process.env['PARLEY_INTEROP_PROBLEM']
  if (notInstalled !== undefined) return { problem: `${name}: ${notInstalled}` }
  try {
    return { module: await load((specifier) => import(/* @vite-ignore */ specifier)) }
  } catch (error) {
    return { problem: `${name} does not load: ${firstLine(error)}` }
  }
}

/** `smoke` throws where the peer does not do its work on this machine. It is called once per run: other test files read the verdict. */
export async function provePeer<Module>(
  name: string,
  peer: Peer<Module>,
  smoke: (module: Module) => unknown,
  timeoutMs = 60_000,
): Promise<Peer<Module>> {
  if ('problem' in peer) return peer
  const known = readVerdict(name)
  const problem = known ?? (await smokeProblem(name, timeoutMs, () => smoke(peer.module)))
  if (known === undefined) keepVerdict(name, problem)
  return problem === '' ? peer : { problem }
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

async function smokeProblem(name: string, timeoutMs: number, smoke: () => unknown): Promise<string> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer in ${timeoutMs / 1000} s`)), timeoutMs)
  try {
    await Promise.race([smoke(), late.promise])
    return ''
  } catch (error) {
    return `${name} does not work on this machine: ${firstLine(error)}`
  } finally {
    clearTimeout(timer)
  }
}

export function firstLine(error: unknown): string {
  // What a program wrote before it ended says more than that it ended.
  const complaint = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
  const text = [complaint, error instanceof Error ? error.message : ''].find((each) => each.trim() !== '')
  return stripVTControlCharacters(text?.trim().split('\n')[0] ?? 'it gave no reason').slice(0, 200)
}

/** Beside the summary of this run, which is gone when the run is over; a run that writes none asks in every file. */
function verdictFile(name: string): string | undefined {
  const summary = process.env['PARLEY_TEST_SUMMARY']
  return summary === undefined ? undefined : join(dirname(summary), 'peers', encodeURIComponent(name))
}

function readVerdict(name: string): string | undefined {
  const file = verdictFile(name)
  try {
    return file === undefined ? undefined : readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

function keepVerdict(name: string, problem: string): void {
  const file = verdictFile(name)
  if (file === undefined) return
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, problem)
}
