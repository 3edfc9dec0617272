// Run when the package is built: makes a database folder and packs it beside the bundle, for users whom initdb refuses
// (src/node/embedded-postgres/template.ts).
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onModernNode } from '../bin/modern-node.js'
import { root } from './bundle.js'

await onModernNode(async () => {
  const { findBinaries, verifyBinaries } = await import('../src/node/embedded-postgres/binaries.ts')
  const { createCluster } = await import('../src/node/embedded-postgres/cluster.ts')
  const { chooseRunAs, openFolders } = await import('../src/node/embedded-postgres/run-as.ts')
  const { packCluster } = await import('../src/node/embedded-postgres/template.ts')
  const dataDir = await mkdtemp(join(tmpdir(), 'parley-template-'))
  try {
    const folder = join(dataDir, 'postgres')
    const binaries = await findBinaries(join(dataDir, 'libraries'))
    await verifyBinaries(binaries, 'all')
    const runAs = await chooseRunAs({ dataDir, folder, ...binaries })
    await openFolders(runAs, { dataDir, folder })
    await createCluster({ dataDir, folder, binaries, runAs })
    await packCluster(folder, join(root, 'dist', 'database-template.br'))
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})
