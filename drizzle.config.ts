// Generates one named SQL file per schema change: `npm run migration -- --name=what_changes`.
import { defineConfig } from 'drizzle-kit'

export default defineConfig({ schema: './src/db/schema.ts', out: './drizzle', dialect: 'postgresql' })
