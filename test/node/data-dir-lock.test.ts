// One process per data folder: the lock is a listening socket, and dies with its process (ruling 28).
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lockDataDir } from '../../src/node/data-dir-lock.ts'

let folder: string
const servers: Server[] = []
const server = (): Server => {
  const made = createServer()
  servers.push(made)
  return made
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-lock-'))
})
afterEach(async () => {
  for (const each of servers.splice(0)) each.close()
  await rm(folder, { recursive: true, force: true })
})

test('the second is refused until the first has gone', async () => {
  const unlock = await lockDataDir(folder, server())
  await expect(lockDataDir(folder, server())).rejects.toMatchObject({ code: 'data_dir_locked' })
  await unlock()
  await lockDataDir(folder, server())
})

test('a socket left behind by kill -9 is taken over', async () => {
  const code = `require('node:net').createServer().listen(${JSON.stringify(join(folder, 'parley.sock'))}, () => console.log('up'))`
  const child = spawn(process.execPath, ['-e', code])
  await new Promise((resolve) => child.stdout.once('data', resolve))
  await expect(lockDataDir(folder, server())).rejects.toMatchObject({ code: 'data_dir_locked' })
  child.kill('SIGKILL')
  await new Promise((resolve) => child.once('exit', resolve))
  await lockDataDir(folder, server())
})

test('of many that start at once on a stale socket, exactly one gets the folder', async () => {
  const code = `require('node:net').createServer().listen(${JSON.stringify(join(folder, 'parley.sock'))}, () => process.kill(process.pid, 'SIGKILL'))`
  await new Promise((resolve) => spawn(process.execPath, ['-e', code]).once('exit', resolve))
  const results = await Promise.allSettled(Array.from({ length: 8 }, () => lockDataDir(folder, server())))
  expect(results.filter((result) => result.status === 'fulfilled')).toHaveLength(1)
})

test('a folder too deep for a socket gets one elsewhere, and is locked all the same', async () => {
  const deep = join(folder, 'a'.repeat(60), 'b'.repeat(60))
  await lockDataDir(deep, server())
  await expect(lockDataDir(deep, server())).rejects.toMatchObject({ code: 'data_dir_locked' })
})
