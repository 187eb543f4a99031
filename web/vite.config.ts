import tailwindcss from '@tailwindcss/vite';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  base: '/app/',
  plugins: [tailwindcss()],
  build: {
    target: 'es2023',
    // Nothing is inlined: the content security policy allows images as data, but scripts and styles only as files.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: {
    // For work on the console: `npm start` serves the API, and this server the pages.
    proxy: { '^/(api|v1|files|docs|openapi.json)': 'http://127.0.0.1:3000' },
  },
});
