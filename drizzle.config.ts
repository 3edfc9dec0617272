// Generates one named SQL file per schema change: `npm run migration -- --name=what_changes`.
import { defineConfig } from 'drizzle-kit'

export default defineConfig({ schema: './src/storage/schema.ts', out: './drizzle', dialect: 'postgresql' })
