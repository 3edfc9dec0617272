// Programs from Debian's packages, unpacked into a folder of our own: nothing is installed. Where they cannot be had, the reason is told.
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Peer } from '../peer.ts'

const run = promisify(execFile)

export type DebianFiles = { readonly root: string }

/** `proof`: a file that is there when everything is. Kept between runs; of two that unpack at the same time the second finds it done. */
export async function unpackDebian(
  name: string,
  packages: readonly string[],
  proof: string,
): Promise<Peer<DebianFiles>> {
  const root = join(tmpdir(), `parley-debian-${name}`)
  if (existsSync(join(root, proof))) return { module: { root } }
  if (process.platform !== 'linux') return { problem: `${name} comes from Debian packages, which are for Linux` }
  const folder = await mkdtemp(join(tmpdir(), `parley-${name}-`))
  try {
    await run('apt-get', ['download', ...packages], { cwd: folder, timeout: 120_000 })
    for (const file of (await readdir(folder)).filter((each) => each.endsWith('.deb')))
      await run('dpkg-deb', ['-x', file, 'unpacked'], { cwd: folder })
    // Its processes may run as somebody else.
    await chmod(join(folder, 'unpacked'), 0o755)
    await rename(join(folder, 'unpacked'), root).catch(() => {})
    return existsSync(join(root, proof)) ? { module: { root } } : { problem: `${name} was not unpacked` }
  } catch (error) {
    const text = error instanceof Error ? (error.message.split('\n')[0] ?? '') : 'it gave no reason'
    return { problem: `${name} cannot be fetched with apt-get: ${text}` }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
