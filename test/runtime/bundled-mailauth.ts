// mailauth in workerd as the Worker gets it: bundled by the same settings. Loaded file by file its CommonJS would be handed modules
// of the other kind, and node:crypto without the names it asks for.
import { type BuildOptions, build } from 'esbuild'

type Plugin = {
  readonly name: string
  readonly enforce: 'pre'
  readonly resolveId: (id: string) => string | undefined
  readonly load: (id: string) => Promise<string | undefined>
}
type Bundling = {
  readonly settingsFor: (what: { entry: string; outfile: string; runtime: 'workerd' }) => BuildOptions
}

const bundled = '\0bundled mailauth'
const script = new URL('../../scripts/bundle.js', import.meta.url).href

export function bundledMailauth(): Plugin {
  return {
    name: 'bundled mailauth',
    enforce: 'pre',
    resolveId: (id) => (id.endsWith('/mailauth.ts') ? bundled : undefined),
    load: async (id) => {
      if (id !== bundled) return undefined
      const { settingsFor } = (await import(script)) as Bundling
      const entry = 'adapters/email/auth/mailauth.ts'
      const settings = settingsFor({ entry, outfile: 'dist/mailauth.js', runtime: 'workerd' })
      const { outputFiles } = await build({ ...settings, sourcemap: false, write: false })
      return outputFiles?.[0]?.text
    },
  }
}
