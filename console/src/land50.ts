// The finer coast, loaded when a map is near enough to need it.
import { feature } from "topojson-client";
import land50 from "world-atlas/land-50m.json";

export default feature(land50 as any, (land50 as any).objects.land);
