/*
 * Answers settings as the page's workers do: node answers.mjs MODULES FOLDER.
 * FOLDER has meta.json, core.gz, planes.gz and settings.json; the answers go to standard output.
 */
import fs from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const [modules, folder] = process.argv.slice(2);
const read = (name) => fs.readFileSync(path.join(folder, name));
const module = (name) => import(pathToFileURL(path.join(modules, name)));
const { loadCore } = await module('core.mjs');
const { deviceOf } = await module('setting.mjs');
const { Pages, AHEAD, NEEDED } = await module('pages.mjs');

const meta = JSON.parse(read('meta.json'));
const core = await loadCore(read('core.gz'), meta, read('planes.gz'));
const pages = new Pages(core);

function answer(setting) {
  const option = meta.options.find(([name]) => name === setting.kernel);
  const kernel = option ? option[1] : meta.recorded_kernel.row;
  const found = core.counts(setting.window, kernel);
  const map = pages.under(setting.window, kernel);
  const causes = {};
  for (const cause of map.unused.cause) causes[cause] = (causes[cause] || 0) + 1;
  found.map = {
    unused: map.unused.page.map((page, row) => [map.unused.file[row], page]),
    causes,
    ahead: map.kind.filter((kind, row) => kind === AHEAD && map.cause[row] !== 255).length,
    needed: map.kind.filter((kind, row) => kind === NEEDED && map.cause[row] !== 255).length,
  };
  if (!meta.run) return found;
  const device = deviceOf(setting, meta.run.device);
  const cpus = setting.cpus === undefined ? meta.run.cpus : setting.cpus;
  return { ...found, ...core.seconds(setting.window, kernel, cpus, device), device: device.map(String) };
}

process.stdout.write(JSON.stringify(JSON.parse(read('settings.json')).map(answer)));
