#!/usr/bin/env node
// The `parley` command: finds a Node that is new enough, then runs the bundle that `npm run build` makes.
import { existsSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { createCacheFolder } from './cache-folder.js'
import { onModernNode } from './modern-node.js'

const bundle = new URL('../dist/parley.js', import.meta.url)

await onModernNode(async () => {
  if (!existsSync(fileURLToPath(bundle))) {
    console.error('dist/parley.js is missing: run npm run build in the checkout first.')
    process.exitCode = 1
    return
  }
  // Half of the time that a short command takes went into compiling. Where nothing can be written, it is compiled as before.
  const cache = createCacheFolder()
  if (cache !== undefined) module.enableCompileCache(join(cache, 'compiled'))
  await import(bundle.href)
})
