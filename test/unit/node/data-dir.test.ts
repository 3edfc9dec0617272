// A data folder that others may look into: closed before it is used, or refused with a way out.
import { chmod, chown, mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { restrictDataDirAccess } from '../../../src/node/data-dir.ts'

let root = ''
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'parley-modes-'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o7777).toString(8)

async function folder(name: string, mode: number, files: Readonly<Record<string, number>> = {}): Promise<string> {
  const path = join(root, name)
  await mkdir(path)
  for (const [file, fileMode] of Object.entries(files)) {
    if (file.endsWith('/')) await mkdir(join(path, file))
    else await writeFile(join(path, file), 'x')
    await chmod(join(path, file), fileMode)
  }
  await chmod(path, mode)
  return path
}

const log = (lines: string[]) => ({
  info: () => {},
  error: () => {},
  warn: (event: string) => void lines.push(event),
})

test.each([0o755, 0o750, 0o701, 0o777, 0o720, 0o704])(
  'one of mode %o is closed, with a line in the log',
  async (mode) => {
    const path = await folder(`open-${mode}`, mode)
    const lines: string[] = []
    await restrictDataDirAccess(path, log(lines))
    expect([await modeOf(path), lines]).toEqual(['700', ['data_dir_closed']])
    await restrictDataDirAccess(path, log(lines))
    expect(lines).toHaveLength(1)
  },
)

test('one that a gateway used before is closed with its secrets and its database', async () => {
  const files = { 'admin-token': 0o644, 'seal-key': 0o640, 'postgres/': 0o750, 'something else': 0o644 }
  const path = await folder('used', 0o755, files)
  await restrictDataDirAccess(path)
  expect(await modeOf(path)).toBe('700')
  expect(await modeOf(join(path, 'admin-token'))).toBe('600')
  expect(await modeOf(join(path, 'seal-key'))).toBe('600')
  expect(await modeOf(join(path, 'postgres'))).toBe('700')
})

test('a closed one, one that PostgreSQL’s group may pass through, and none at all are left alone', async () => {
  const lines: string[] = []
  for (const mode of [0o700, 0o710]) {
    const path = await folder(`closed-${mode}`, mode)
    await restrictDataDirAccess(path, log(lines))
    expect(await modeOf(path)).toBe(mode.toString(8))
  }
  await restrictDataDirAccess(join(root, 'none'), log(lines))
  expect(lines).toEqual([])
})

test.each([
  ['that holds other people’s things', 0o755, { 'holiday.jpg': 0o644 }],
  ['that all users may write into', 0o1777, {}],
])('one %s is refused and left as it is', async (name, mode, files) => {
  const path = await folder(name.replaceAll(/\W/g, ''), mode, files)
  await expect(restrictDataDirAccess(path)).rejects.toThrow(/\(mode 7[57][57]\).*chmod 700.*PARLEY_DATA_DIR/)
  expect(await modeOf(path)).toBe(mode.toString(8))
})

test('through a link it is the folder itself that is closed', async () => {
  const path = await folder('target', 0o755)
  await symlink(path, join(root, 'link'))
  await restrictDataDirAccess(join(root, 'link'))
  expect(await modeOf(path)).toBe('700')
})

test.skipIf(process.getuid?.() !== 0)('one that belongs to another user is refused, with who can help', async () => {
  const path = await folder('theirs', 0o755)
  await chown(path, 1234, 1234)
  await chmod(root, 0o755)
  process.seteuid?.(65_534)
  try {
    await expect(restrictDataDirAccess(path)).rejects.toThrow(/cannot be closed \(EPERM\); chmod 700 it as its owner/)
  } finally {
    process.seteuid?.(0)
  }
})
