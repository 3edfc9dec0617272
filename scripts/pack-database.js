// Run when the package is built: makes a database folder and packs it beside the bundle, for users whom initdb refuses
// (src/node/embedded-postgres/cluster.ts).
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onModernNode } from '../bin/modern-node.js'
import { root } from './bundle.js'

await onModernNode(async () => {
  const { verifyBinaries } = await import('../src/node/embedded-postgres/binaries.ts')
  const { createCluster } = await import('../src/node/embedded-postgres/cluster.ts')
  const { preparePrograms } = await import('../src/node/embedded-postgres/binaries.ts')
  const { packCluster } = await import('../src/node/embedded-postgres/cluster.ts')
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-template-'))
  try {
    const folder = join(dataDir, 'postgres')
    const programs = await preparePrograms(dataDir, folder)
    await verifyBinaries(programs.binaries, 'all')
    await createCluster(programs)
    await packCluster(folder, join(root, 'dist', 'database-template.br'))
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})
