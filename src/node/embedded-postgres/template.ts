// A database folder that initdb made when the package was built, in one file: for users whom initdb refuses, because their number
// has no name (`docker run --user 12345`).
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'

/** Beside the bundle; a checkout that is not packed has none. */
export const templateFile = join(import.meta.dirname, 'database-template.br')

export function hasTemplate(): boolean {
  return existsSync(templateFile)
}

type Index = { readonly folders: readonly string[]; readonly files: readonly (readonly [path: string, size: number])[] }

const modeOfFolder = 0o700
const modeOfFile = 0o600
const indexLengthBytes = 4

/** Files of one name stand together: the three databases of a new folder are nearly the same. */
export async function packCluster(folder: string, file: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
  const sorted = paths.toSorted(
    (one, other) => basename(one).localeCompare(basename(other)) || one.localeCompare(other),
  )
  const contents: Buffer[] = []
  for (const path of sorted) contents.push(await readFile(path))
  const index: Index = {
    folders: entries
      .filter((entry) => entry.isDirectory())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name))),
    files: sorted.map((path, at) => [relative(folder, path), contents[at]?.byteLength ?? 0]),
  }
  const head = Buffer.from(JSON.stringify(index))
  const length = Buffer.alloc(indexLengthBytes)
  length.writeUInt32BE(head.byteLength)
  const params = { [constants.BROTLI_PARAM_QUALITY]: 5, [constants.BROTLI_PARAM_LGWIN]: 24 }
  await writeFile(file, await promisify(brotliCompress)(Buffer.concat([length, head, ...contents]), { params }))
}

/** `folder` exists and is empty. */
export async function unpackCluster(file: string, folder: string): Promise<void> {
  const bytes = await promisify(brotliDecompress)(await readFile(file))
  let at = indexLengthBytes + bytes.readUInt32BE(0)
  // Written by packCluster of the same release.
  const { folders, files } = JSON.parse(bytes.subarray(indexLengthBytes, at).toString('utf8')) as Index
  for (const path of folders) await mkdir(join(folder, path), { recursive: true, mode: modeOfFolder })
  for (const [path, size] of files) {
    const written = await open(join(folder, path), 'w', modeOfFile)
    await written.writeFile(bytes.subarray(at, at + size))
    await written.sync()
    await written.close()
    at += size
  }
}
